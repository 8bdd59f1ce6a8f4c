import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import type { AgentOwner, AllOwners } from '../../../src/join/owner-lookup.ts'
import { OwnerTable } from '../../../src/join/owner-table.ts'
import { createLatch, edgeRequest, ManualClock, settle } from '../../support/edge-requests.ts'

const ownedBy = (node: string): AgentOwner => ({ kind: 'node', node })
const FRESH = 5000
const STALE = 60_000

/** An owner table over a master whose responses the test sets. */
function createTable() {
  const clock = new ManualClock()
  let calls = 0
  let respond: () => Promise<AllOwners> = async () => ({
    owners: new Map([['001', ownedBy(`n${calls}`)]]),
    age: 0,
    fetchTime: 0,
  })
  const findAll = () => {
    calls += 1
    return respond()
  }
  const table = new OwnerTable({
    lookup: { findAll },
    lifetimes: () => ({ ttl: FRESH, staleIfError: STALE }),
    clock: clock.read,
  })
  const node = async () => {
    const owner = (await table.current(edgeRequest('GET /agents'))).get('001')
    return owner?.kind === 'node' ? owner.node : owner?.kind
  }
  return { clock, table, node, calls: () => calls, master: (answer: typeof respond) => (respond = answer) }
}

const unreachable = () => Promise.reject(new EdgeError(931, ' (unreachable)'))

t.test(
  'a fresh table is returned as it is, an older one is refreshed behind the request, a twice as old one before it',
  async (t) => {
    const { clock, node, calls } = createTable()
    t.strictSame(await Promise.all([node(), node(), node()]), ['n1', 'n1', 'n1'])
    clock.now += FRESH - 1
    t.equal(await node(), 'n1')
    t.equal(calls(), 1)
    clock.now += 1
    t.equal(await node(), 'n1', 'no request waits')
    await settle()
    t.equal(calls(), 2)
    t.equal(await node(), 'n2', 'the next request has the new table')
    clock.now += 2 * FRESH
    t.equal(await node(), 'n3', 'too old: refreshed first')
  },
)

t.test('the age of cached responses counts', async (t) => {
  const { clock, node, calls, master } = createTable()
  master(async () => ({ owners: new Map([['001', ownedBy('cached')]]), age: FRESH - 10, fetchTime: 0 }))
  t.equal(await node(), 'cached')
  clock.now += 10
  await node()
  await settle()
  t.equal(calls(), 2)
})

t.test('a slow refresh takes at most a tenth of the time', async (t) => {
  const { clock, node, calls, master } = createTable()
  master(async () => {
    clock.now += 2000
    return { owners: new Map([['001', ownedBy('slow')]]), age: 0, fetchTime: 2000 }
  })
  await node()
  clock.now += 17_000
  t.equal(await node(), 'slow')
  await settle()
  t.equal(calls(), 1, 'not before ten times its duration')
  clock.now += 1000
  await node()
  await settle()
  t.equal(calls(), 2)
})

t.test(
  'while the master is unreachable, the old table is used up to its maximum age, then 931; the master is called once per second',
  async (t) => {
    const { clock, node, calls, master } = createTable()
    t.equal(await node(), 'n1')
    master(unreachable)
    clock.now += 2 * FRESH
    t.equal(await node(), 'n1')
    t.strictSame(await Promise.all(Array.from({ length: 50 }, node)), Array(50).fill('n1'))
    t.equal(calls(), 2, 'one failed call, no second one within a second')
    clock.now += STALE - FRESH - 1
    t.equal(await node(), 'n1')
    clock.now += 1001
    await t.rejects(node(), { code: 931 })
    master(async () => ({ owners: new Map([['001', ownedBy('back')]]), age: 0, fetchTime: 0 }))
    clock.now += 1001
    t.equal(await node(), 'back')
  },
)

t.test('requests use the old table while the master does not respond', async (t) => {
  const { clock, node, master } = createTable()
  await node()
  const { opened, open } = createLatch()
  master(async () => {
    await opened
    return { owners: new Map([['001', ownedBy('late')]]), age: 0, fetchTime: 0 }
  })
  clock.now += 3 * FRESH
  t.equal(await node(), 'n1', 'before the master responds')
  open()
  await settle()
  t.equal(await node(), 'late')
})

t.test('the owner of one agent can be corrected', async (t) => {
  const { table, node } = createTable()
  await node()
  table.correct(['001'], new Map([['001', ownedBy('moved')]]), 1)
  t.equal(await node(), 'moved')
  table.correct(['001'], new Map(), 2)
  t.equal(await node(), undefined)
})

t.test('a table that a request reads does not change, the next one has the owner that was looked up', async (t) => {
  const { table } = createTable()
  const inUse = await table.current(edgeRequest('GET /agents'))
  for (const name of ['moved', 'again']) table.correct(['001'], new Map([['001', ownedBy(name)]]), 1)
  t.same(inUse.get('001'), ownedBy('n1'))
  t.same((await table.current(edgeRequest('GET /agents'))).get('001'), ownedBy('again'))
})

t.test('rows that are older than a lookup do not undo it, those of a later refresh do', async (t) => {
  const { clock, table, node, master } = createTable()
  const rows = (name: string, age: number) => async () => ({
    owners: new Map([['001', ownedBy(name)]]),
    age,
    fetchTime: 0,
  })
  await node()
  clock.now += 3 * FRESH
  table.correct(['001'], new Map([['001', ownedBy('moved')]]), clock.now - 10)
  master(rows('before', FRESH / 2))
  t.equal(await node(), 'moved', 'pages that another replica has read')
  const { opened, open } = createLatch()
  clock.now += 3 * FRESH
  master(async () => {
    await opened
    return rows('before', 0)()
  })
  const refreshed = node()
  clock.now += 10
  table.correct(['001'], new Map([['001', ownedBy('again')]]), clock.now)
  open()
  t.equal(await refreshed, 'again', 'a refresh that began before')
  clock.now += 3 * FRESH
  master(rows('later', 0))
  t.equal(await node(), 'later')
})

t.test('credentials that the master refuses fail the refresh for one caller only', async (t) => {
  const { node, calls, master } = createTable()
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
  master(async () => ({ owners: new Map([['001', ownedBy('mine')]]), age: 0, fetchTime: 0 }))
  refuse()
  await t.rejects(first, { code: 901 })
  t.equal(await second, 'mine')
  t.equal(calls(), 2)
})

t.test('the wait for a master that does not respond is shared by all requests', async (t) => {
  const { clock, node, master } = createTable()
  await node()
  clock.now += 3 * FRESH
  master(() => new Promise(() => {}))
  const first = await durationOf(node)
  clock.now += 1000
  let later = 0
  for (let times = 0; times < 10; times++) later += await durationOf(node)
  t.ok(later < first, `ten later requests took ${later} ms, the first one ${first} ms`)
})

async function durationOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
