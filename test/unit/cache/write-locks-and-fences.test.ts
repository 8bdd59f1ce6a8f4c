import t from 'tap'
import { createWriteLocks, writeLockStage } from '../../../src/cache/write-lock.ts'
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

/** The road of a request, cache and turns included; the first write stays on its node until it is let go. */
function road(patience = 60_000) {
  const { cache, nodes } = replica()
  const writing = createLatch()
  nodes.respond = async ({ endpoint: { method } }, call) => {
    if (method !== 'GET' && writes(nodes) === 1) await writing.opened
    return success({ id: `${call}`.padStart(3, '0') })
  }
  const handle = buildPipeline({
    operations: {} as PipelineParts['operations'],
    readThrough: cache.readThrough,
    invalidate: cache.invalidate,
    writeLock: writeLockStage({ locks: createWriteLocks(), master: () => 'm', timeoutOf: () => patience }),
    forward: nodes.handler,
  })
  const read = async () =>
    cacheStatusOf(await handle(edgeRequest('GET /syscollector/:agent_id/os', { params: { agent_id: '001' } })))
  return { nodes, handle, read, finish: writing.open }
}

function writes({ requests: asked }: FakeNodes): number {
  return asked.filter(({ endpoint }) => endpoint.method !== 'GET').length
}

const registered = (more = {}) => edgeRequest('POST /agents', { ...fields({ name: 'a', ip: 'any' }), ...more })
/** It may displace an agent, so it touches what is kept of all of them. */
const displacing = (more = {}) =>
  edgeRequest('POST /agents', { ...fields({ name: 'b', ip: 'any', force: 0 }), ...more })

t.test('a write that stands in line touches nothing yet; when its turn comes, it does', async (t) => {
  const { nodes, handle, read, finish } = road()
  await read()
  const first = handle(registered())
  const second = handle(displacing())
  await settle()
  t.equal(writes(nodes), 1, 'one at a time')
  t.match(await read(), { hit: true }, 'of what the second one will touch')
  finish()
  await Promise.all([first, second])
  t.equal(writes(nodes), 2)
  t.match(await read(), { fwd: 'uri-miss' })
})

t.test('a client that leaves the line takes its write with it', async (t) => {
  const { nodes, handle, read, finish } = road()
  await read()
  const leaving = new AbortController()
  const first = handle(registered())
  const second = handle(displacing({ signal: leaving.signal }))
  await settle()
  leaving.abort(new Error('left'))
  await t.rejects(async () => second, { message: 'left' })
  finish()
  await first
  await handle(registered())
  t.equal(writes(nodes), 2, 'it was not sent behind its back')
  t.match(await read(), { hit: true })
})

t.test('a write whose turn does not come drops nothing', async (t) => {
  const { handle, read, finish } = road(20)
  await read()
  const first = handle(registered())
  await t.rejects(async () => handle(displacing()), { code: 934 })
  t.match(await read(), { hit: true })
  finish()
  await first
})
