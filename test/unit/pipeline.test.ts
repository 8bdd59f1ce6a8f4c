import t from 'tap'
import { EdgeError } from '../../src/core/errors.ts'
import type { EdgeRequest, Handler } from '../../src/core/request.ts'
import { buildPipeline, type PipelineParts } from '../../src/pipeline.ts'
import { bodyOf, edgeRequest, success } from '../support/edge-requests.ts'

/** Stages and handlers that note their names in the order in which a request reaches them. */
function noting() {
  const steps: string[] = []
  const stage =
    (name: string) =>
    <R extends EdgeRequest>(next: Handler<R>): Handler<R> =>
    (request) => {
      steps.push(name)
      return next(request)
    }
  const handler =
    (name: string): Handler =>
    async () => {
      steps.push(name)
      return success(name)
    }
  return { steps, stage, handler }
}

const pass = <R extends EdgeRequest>(next: Handler<R>): Handler<R> => next

/** Parts that do nothing but call the node. */
const plain: Omit<PipelineParts, 'forward'> = {
  audit: pass,
  operations: {} as PipelineParts['operations'],
  refuseWrites: pass,
  writeLock: pass,
  endTokens: pass,
  multiNode: (_read, forward) => ({
    forwardToOwner: forward,
    joinCollections: forward,
    joinVerdicts: forward,
    joinWrites: forward,
  }),
}

t.test('reads pass the cache, writes the invalidation, and operations of the edge neither', async (t) => {
  const { steps, stage, handler } = noting()
  const operation = handler('operation')
  const operations = new Proxy({}, { get: () => operation }) as PipelineParts['operations']
  const parts = { ...plain, audit: stage('audit'), operations, forward: () => handler('forward') }
  const handle = buildPipeline({ ...parts, invalidate: stage('invalidate'), readThrough: stage('readThrough') })
  await handle(edgeRequest('GET /agents'))
  await handle(edgeRequest('PUT /agents/restart'))
  await handle(edgeRequest('DELETE /cache'))
  t.strictSame(steps, ['readThrough', 'forward', 'audit', 'invalidate', 'forward', 'audit', 'operation'])
  const uncached = buildPipeline(parts)
  t.equal(bodyOf(await uncached(edgeRequest('GET /agents'))).data, 'forward', 'without a cache the node is called')
})

t.test('a refused write takes no lock and fences nothing; reads and operations of the edge go on', async (t) => {
  const { steps, stage, handler } = noting()
  const operation = handler('operation')
  const handle = buildPipeline({
    ...plain,
    operations: new Proxy({}, { get: () => operation }) as PipelineParts['operations'],
    forward: () => handler('forward'),
    invalidate: stage('invalidate'),
    writeLock: stage('writeLock'),
    refuseWrites: () => async () => {
      throw new EdgeError(939)
    },
  })
  await t.rejects(async () => handle(edgeRequest('PUT /agents/restart')), { code: 939 })
  await handle(edgeRequest('GET /agents'))
  await handle(edgeRequest('DELETE /cache'))
  t.strictSame(steps, ['forward', 'operation'])
})

t.test('a hit stays synchronous through the whole pipeline', async (t) => {
  const hit = success('hit')
  const handle = buildPipeline({
    ...plain,
    readThrough: () => () => hit,
    forward: () => async () => success('node'),
  })
  t.equal(handle(edgeRequest('GET /agents')), hit)
})

t.test('the target of the record decides between one node, the owner and several nodes', async (t) => {
  const { steps, stage, handler } = noting()
  const handle = buildPipeline({
    ...plain,
    readThrough: stage('readThrough'),
    invalidate: stage('invalidate'),
    writeLock: stage('writeLock'),
    forward: () => handler('forward'),
    multiNode: (read) => ({
      forwardToOwner: handler('owner'),
      joinVerdicts: handler('verdicts'),
      joinWrites: handler('writes'),
      joinCollections: (request) => {
        steps.push('collections')
        return read({ ...request, extent: { node: 'w' } })
      },
    }),
  })
  const collection = ['readThrough', 'collections', 'readThrough', 'forward']
  const expected: Readonly<Record<string, readonly string[]>> = {
    'GET /agents': ['readThrough', 'forward'],
    'GET /syscheck/:agent_id': ['readThrough', 'owner'],
    'PUT /syscheck/:agent_id': ['writeLock', 'invalidate', 'owner'],
    'GET /experimental/syscollector/os': collection,
    'GET /cluster/:node_ids/info': collection,
    'GET /cluster/configuration/validation': ['readThrough', 'verdicts'],
    'PUT /syscheck': ['writeLock', 'invalidate', 'writes'],
    'POST /agents/restart': ['writeLock', 'invalidate', 'writes'],
    'PUT /agents/groups/:group_id/restart': ['writeLock', 'invalidate', 'writes'],
    'POST /agents': ['writeLock', 'invalidate', 'forward'],
  }
  for (const [call, order] of Object.entries(expected)) {
    steps.length = 0
    await handle(edgeRequest(call))
    t.strictSame(steps, order, call)
  }
})
