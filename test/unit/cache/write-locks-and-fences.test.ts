import t from 'tap'
import { createWriteLocks, writeLockStage } from '../../../src/cache/write-locks.ts'
import { buildPipeline, type PipelineParts } from '../../../src/pipeline.ts'
import {
  cacheStatusOf,
  createLatch,
  edgeRequest,
  type FakeNodes,
  fields,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

/** The pipeline with cache and write locks; the first write stays on its node until `finish` is called. */
function pipeline(timeout = 60_000) {
  const { cache, nodes } = replica()
  const writing = createLatch()
  nodes.respond = async ({ endpoint: { method } }, call) => {
    if (method !== 'GET' && writes(nodes) === 1) await writing.opened
    return success({ id: `${call}`.padStart(3, '0') })
  }
  const handle = buildPipeline({
    audit: (next) => next,
    operations: {} as PipelineParts['operations'],
    readThrough: cache.readThrough,
    invalidate: cache.invalidate,
    writeLock: writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => timeout }),
    refuseWrites: (next) => next,
    endTokens: (next) => next,
    forward: () => nodes.handler,
    multiNode: (_read, forward) => ({
      forwardToOwner: forward,
      joinCollections: forward,
      joinVerdicts: forward,
      joinWrites: forward,
    }),
  })
  const read = async () =>
    cacheStatusOf(await handle(edgeRequest('GET /syscollector/:agent_id/os', { params: { agent_id: '001' } })))
  return { nodes, handle, read, finish: writing.open }
}

function writes({ requests }: FakeNodes): number {
  return requests.filter(({ endpoint }) => endpoint.method !== 'GET').length
}

const registered = (more = {}) => edgeRequest('POST /agents', { ...fields({ name: 'a', ip: 'any' }), ...more })
/** May replace another agent, so it invalidates the data of all agents. */
const replacing = (more = {}) => edgeRequest('POST /agents', { ...fields({ name: 'b', ip: 'any', force: 0 }), ...more })

t.test('a write that waits for the lock invalidates nothing before it is sent', async (t) => {
  const { nodes, handle, read, finish } = pipeline()
  await read()
  const first = handle(registered())
  const second = handle(replacing())
  await settle()
  t.equal(writes(nodes), 1, 'one at a time')
  t.match(await read(), { hit: true }, 'of data that the second write will touch')
  finish()
  await Promise.all([first, second])
  t.equal(writes(nodes), 2)
  t.match(await read(), { fwd: 'uri-miss' })
})

t.test('a write whose client disconnects while it waits is never sent', async (t) => {
  const { nodes, handle, read, finish } = pipeline()
  await read()
  const leaving = new AbortController()
  const first = handle(registered())
  const second = handle(replacing({ client: leaving }))
  await settle()
  leaving.abort(new Error('left'))
  await t.rejects(async () => second, { message: 'left' })
  finish()
  await first
  await handle(registered())
  t.equal(writes(nodes), 2, 'it was not sent later either')
  t.match(await read(), { hit: true })
})

t.test('a write that does not get the lock invalidates nothing', async (t) => {
  const { handle, read, finish } = pipeline(20)
  await read()
  const first = handle(registered())
  await t.rejects(async () => handle(replacing()), { code: 934 })
  t.match(await read(), { hit: true })
  finish()
  await first
})
