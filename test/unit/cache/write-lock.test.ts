import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { createWriteLocks, type WriteLocks, writeLockStage } from '../../../src/cache/write-lock.ts'
import type { Handler } from '../../../src/core/request.ts'
import { edgeRequest, fields, settle, success } from '../../support/edge-requests.ts'

const nobody = new AbortController().signal

/** Takes turns of a name and writes down when each begins and ends. */
function workers(turns: WriteLocks) {
  const steps: string[] = []
  const open = new Map<string, () => void>()
  const work = async (who: string, name = 'file', patience = 5000, signal = nobody) => {
    const turn = await turns.acquire(name, patience, signal)
    if (turn === undefined) return void steps.push(`${who} gave up`)
    steps.push(`${who} begins`)
    await new Promise<void>((resolve) => open.set(who, resolve))
    steps.push(`${who} ends`)
    await turn.release()
  }
  const end = async (who: string) => {
    open.get(who)?.()
    await settle()
  }
  return { steps, work, end }
}

t.test('one at a time, in the order in which they came', async (t) => {
  const { steps, work, end } = workers(createWriteLocks())
  const all = [work('a'), work('b'), work('c'), work('d', 'another')]
  await settle()
  t.strictSame([...steps].sort(), ['a begins', 'd begins'], 'other names do not wait')
  for (const who of ['d', 'a', 'b', 'c']) await end(who)
  await Promise.all(all)
  t.strictSame(
    steps.filter((step) => !step.startsWith('d')),
    ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'],
  )
})

t.test('who waits too long, or leaves, lets the others pass', async (t) => {
  const { steps, work, end } = workers(createWriteLocks())
  const leaving = new AbortController()
  const first = work('a')
  const late = work('b', 'file', 20)
  const gone = work('c', 'file', 5000, leaving.signal)
  const last = work('d')
  await late
  leaving.abort(new Error('left'))
  await t.rejects(gone, { message: 'left' })
  t.strictSame(steps, ['a begins', 'b gave up'], 'and nobody goes before its turn')
  await end('a')
  await first
  await end('d')
  await last
  t.strictSame(steps.slice(2), ['a ends', 'd begins', 'd ends'])
})

t.test('processes over one store take turns', async (t) => {
  const { acquireFetchLock: claim } = createMemoryStore({ bytes: 1024 })
  const [one, other] = [workers(createWriteLocks(claim)), workers(createWriteLocks(claim))]
  const all = [one.work('a'), other.work('b'), other.work('c', 'file', 30)]
  await settle()
  t.strictSame([one.steps, other.steps], [['a begins'], []])
  await all[2]
  await one.end('a')
  await other.end('b')
  await Promise.all(all)
  t.strictSame(other.steps, ['c gave up', 'b begins', 'b ends'])
})

t.test('the stage: only writes that have a name wait, and what they do is theirs alone', async (t) => {
  let inside = 0
  let most = 0
  const nodes: Handler = async (given) => {
    inside += 1
    most = Math.max(most, inside)
    await wait(5)
    inside -= 1
    if (given.requestId === 'fails') throw new Error('no node')
    return success('done')
  }
  const handle = writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => 5000 })(nodes)
  const upload = (path: string, node = 'm', more = {}) =>
    edgeRequest('POST /cluster/:node_id/files', { params: { node_id: node }, query: { path }, ...more })
  const own = (path: string) => edgeRequest('POST /manager/files', { query: { path } })
  const times = <T>(make: () => T) => Array.from({ length: 3 }, make)
  await Promise.all([...times(() => upload('etc/rules/a.xml')), ...times(() => own('etc/rules/a.xml'))].map(handle))
  t.equal(most, 1, 'the master’s files have one name under both paths')
  await Promise.all([upload('etc/rules/a.xml', 'w1'), own('etc/rules/a.xml'), own('etc/rules/b.xml')].map(handle))
  t.equal(most, 3, 'other nodes and other paths do not wait')
  most = 0
  await Promise.all(times(() => edgeRequest('POST /agents', fields({ name: 'x' }))).map(handle))
  t.equal(most, 1, 'registrations')
  await Promise.all(
    times(() => edgeRequest('PUT /agents/:agent_id/restart', { params: { agent_id: '001' } })).map(handle),
  )
  t.equal(most, 3, 'what needs no turn')
  await t.rejects(async () => handle(upload('etc/rules/a.xml', 'm', { requestId: 'fails' })), { message: 'no node' })
  t.match(await handle(upload('etc/rules/a.xml')), { status: 200 }, 'a turn ends with a failure too')
})

t.test('a writer whose turn does not come gets 934 and may come again', async (t) => {
  let calls = 0
  const stalled: Handler = async () => {
    calls += 1
    await wait(100)
    return success('done')
  }
  const handle = writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => 20 })(stalled)
  const upload = () => handle(edgeRequest('POST /manager/files', { query: { path: 'etc/rules/a.xml' } }))
  const first = upload()
  await t.rejects(async () => upload(), { code: 934, status: 503, headers: { 'retry-after': /^\d+$/ } })
  await first
  t.equal(calls, 1, 'nothing was sent')
})
