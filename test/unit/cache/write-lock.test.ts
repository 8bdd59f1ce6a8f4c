import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createWriteLocks, type WriteLocks, writeLockStage } from '../../../src/cache/write-locks.ts'
import type { Handler } from '../../../src/core/request.ts'
import { createLatch, edgeRequest, fields, settle, success } from '../../support/edge-requests.ts'

const neverAborted = new AbortController().signal

/** Writers that take the lock of a name and note when they start and end. */
function writers(locks: WriteLocks) {
  const steps: string[] = []
  const open = new Map<string, () => void>()
  const work = async (writer: string, name = 'file', timeout = 5000, signal = neverAborted) => {
    const lock = await locks.acquire(name, timeout, signal)
    if (lock === undefined) return void steps.push(`${writer} timed out`)
    steps.push(`${writer} starts`)
    await new Promise<void>((resolve) => open.set(writer, resolve))
    steps.push(`${writer} ends`)
    await lock.release()
  }
  const end = async (writer: string) => {
    open.get(writer)?.()
    await settle()
  }
  return { steps, work, end }
}

t.test('one writer at a time holds the lock of a name, in the order of arrival', async (t) => {
  const { steps, work, end } = writers(createWriteLocks())
  const all = [work('a'), work('b'), work('c'), work('d', 'another')]
  await settle()
  t.strictSame([...steps].sort(), ['a starts', 'd starts'], 'other names do not wait')
  for (const writer of ['d', 'a', 'b', 'c']) await end(writer)
  await Promise.all(all)
  t.strictSame(
    steps.filter((step) => !step.startsWith('d')),
    ['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends'],
  )
})

t.test('a writer that times out or disconnects leaves the queue', async (t) => {
  const { steps, work, end } = writers(createWriteLocks())
  const leaving = new AbortController()
  const first = work('a')
  const late = work('b', 'file', 20)
  const aborted = work('c', 'file', 5000, leaving.signal)
  const last = work('d')
  await late
  leaving.abort(new Error('left'))
  await t.rejects(aborted, { message: 'left' })
  t.strictSame(steps, ['a starts', 'b timed out'], 'no other writer starts before its turn')
  await end('a')
  await first
  await end('d')
  await last
  t.strictSame(steps.slice(2), ['a ends', 'd starts', 'd ends'])
})

t.test('the stage runs one write at a time for a name, and other writes concurrently', async (t) => {
  let inside = 0
  let most = 0
  const nodes: Handler = async ({ requestId }) => {
    inside += 1
    most = Math.max(most, inside)
    await wait(5)
    inside -= 1
    if (requestId === 'fails') throw new Error('no node')
    return success('done')
  }
  const handle = writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => 5000 })(nodes)
  const upload = (path: string, node = 'm', more = {}) =>
    edgeRequest('POST /cluster/:node_id/files', { params: { node_id: node }, query: { path }, ...more })
  const own = (path: string) => edgeRequest('POST /manager/files', { query: { path } })
  const times = <T>(make: () => T) => Array.from({ length: 3 }, make)
  await Promise.all([...times(() => upload('etc/rules/a.xml')), ...times(() => own('etc/rules/a.xml'))].map(handle))
  t.equal(most, 1, 'the files of the master have one name under both paths')
  await Promise.all([upload('etc/rules/a.xml', 'w1'), own('etc/rules/a.xml'), own('etc/rules/b.xml')].map(handle))
  t.equal(most, 3, 'other nodes and other paths have other names')
  most = 0
  await Promise.all(times(() => edgeRequest('POST /agents', fields({ name: 'x' }))).map(handle))
  t.equal(most, 1, 'registrations')
  await Promise.all(
    times(() => edgeRequest('PUT /agents/:agent_id/restart', { params: { agent_id: '001' } })).map(handle),
  )
  t.equal(most, 3, 'a write without a lock')
  await t.rejects(async () => handle(upload('etc/rules/a.xml', 'm', { requestId: 'fails' })), { message: 'no node' })
  t.match(await handle(upload('etc/rules/a.xml')), { status: 200 }, 'the lock is released after a failure')
})

t.test('a write that does not get the lock in time gets 934 with Retry-After, and is not sent', async (t) => {
  let calls = 0
  const { opened, open } = createLatch()
  const stalled: Handler = async () => {
    calls += 1
    await opened
    return success('done')
  }
  const handle = writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => 20 })(stalled)
  const upload = () => handle(edgeRequest('POST /manager/files', { query: { path: 'etc/rules/a.xml' } }))
  const first = upload()
  await t.rejects(async () => upload(), { code: 934, status: 503, headers: { 'retry-after': /^\d+$/ } })
  open()
  await first
  t.equal(calls, 1, 'nothing was sent')
})
