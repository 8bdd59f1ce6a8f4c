import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import type { AgentOwner } from '../../../src/join/owner-lookup.ts'
import { createOwnerTable } from '../../../src/join/owner-table.ts'
import { createLatch, edgeRequest, ManualClock, settle } from '../../support/edge-requests.ts'

const at = (node: string): AgentOwner => ({ kind: 'node', node })
const FRESH = 5000
const STALE = 60_000

/** A master that answers as it is told, and a table of it. */
function followed() {
  const clock = new ManualClock()
  let calls = 0
  let says: () => Promise<{ owners: Map<string, AgentOwner>; age: number }> = async () => ({
    owners: new Map([['001', at(`n${calls}`)]]),
    age: 0,
  })
  const findAll = () => {
    calls += 1
    return says()
  }
  const table = createOwnerTable({ lookup: { findAll }, ttl: FRESH, staleIfError: STALE, clock: clock.read })
  const node = async () => {
    const home = (await table.current(edgeRequest('GET /agents'))).get('001')
    return home?.kind === 'node' ? home.node : home?.kind
  }
  return { clock, table, node, calls: () => calls, master: (answer: typeof says) => (says = answer) }
}

const away = () => Promise.reject(new EdgeError(931, ' (away)'))

t.test('fresh as it is, older behind the request, twice as old before it', async (t) => {
  const { clock, node, calls } = followed()
  t.strictSame(await Promise.all([node(), node(), node()]), ['n1', 'n1', 'n1'])
  clock.now += FRESH - 1
  t.equal(await node(), 'n1')
  t.equal(calls(), 1)
  clock.now += 1
  t.equal(await node(), 'n1', 'nobody waits')
  await settle()
  t.equal(calls(), 2)
  t.equal(await node(), 'n2', 'but the next has the new one')
  clock.now += 2 * FRESH
  t.equal(await node(), 'n3', 'too old: learnt first')
})

t.test('the age of what was kept counts', async (t) => {
  const { clock, node, calls, master } = followed()
  master(async () => ({ owners: new Map([['001', at('kept')]]), age: FRESH - 10 }))
  t.equal(await node(), 'kept')
  clock.now += 10
  await node()
  await settle()
  t.equal(calls(), 2)
})

t.test('learning that takes long is done seldom', async (t) => {
  const { clock, node, calls, master } = followed()
  master(async () => {
    clock.now += 2000
    return { owners: new Map([['001', at('slow')]]), age: 0 }
  })
  await node()
  clock.now += 17_000
  t.equal(await node(), 'slow')
  await settle()
  t.equal(calls(), 1, 'less than a tenth of the time')
  clock.now += 1000
  await node()
  await settle()
  t.equal(calls(), 2)
})

t.test('a master that is away: the last table within its bound, then an error, and no storm', async (t) => {
  const { clock, node, calls, master } = followed()
  t.equal(await node(), 'n1')
  master(away)
  clock.now += 2 * FRESH
  t.equal(await node(), 'n1')
  t.strictSame(await Promise.all(Array.from({ length: 50 }, node)), Array(50).fill('n1'))
  t.equal(calls(), 2, 'it is not asked again within a second')
  clock.now += STALE - FRESH - 1
  t.equal(await node(), 'n1')
  clock.now += 1001
  await t.rejects(node(), { code: 931 })
  master(async () => ({ owners: new Map([['001', at('back')]]), age: 0 }))
  clock.now += 1001
  t.equal(await node(), 'back')
})

t.test('a master that says nothing is not waited for', async (t) => {
  const { clock, node, master } = followed()
  await node()
  const { opened, open } = createLatch()
  master(async () => {
    await opened
    return { owners: new Map([['001', at('late')]]), age: 0 }
  })
  clock.now += 3 * FRESH
  const began = performance.now()
  t.equal(await node(), 'n1')
  t.ok(performance.now() - began < 5000, 'a moment and no more')
  open()
  await settle()
  t.equal(await node(), 'late')
})

t.test('what was found out about one agent holds', async (t) => {
  const { table, node } = followed()
  await node()
  table.correct('001', at('moved'))
  t.equal(await node(), 'moved')
  table.correct('001', undefined)
  t.equal(await node(), undefined)
})

t.test('credentials that the master refuses are one caller alone', async (t) => {
  const { node, calls, master } = followed()
  let refuse = () => {}
  master(
    () =>
      new Promise((_, reject) => {
        refuse = () => reject(new EdgeError(901))
      }),
  )
  const first = node()
  const second = node()
  await settle()
  t.equal(calls(), 1)
  master(async () => ({ owners: new Map([['001', at('mine')]]), age: 0 }))
  refuse()
  await t.rejects(first, { code: 901 })
  t.equal(await second, 'mine')
  t.equal(calls(), 2)
})

t.test('who comes later does not wait anew for a master that says nothing', async (t) => {
  const { clock, node, master } = followed()
  await node()
  clock.now += 3 * FRESH
  master(() => new Promise(() => {}))
  t.equal(await node(), 'n1', 'one second is waited')
  clock.now += 1000
  const began = performance.now()
  for (let times = 0; times < 10; times++) t.equal(await node(), 'n1')
  t.ok(performance.now() - began < 1000)
})
