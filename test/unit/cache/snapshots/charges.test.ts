import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { edgeRequest } from '../../../support/edge-requests.ts'
import { agents, snapshotReplica } from './collection-node.ts'

/** Sends a request, and returns how often it was charged as one that costs. */
async function chargesOf(edge: ReturnType<typeof snapshotReplica>, query: Record<string, string>): Promise<number> {
  let charges = 0
  await edge.read(edgeRequest('GET /agents', { query, cost: { charge: () => (charges += 1) } }))
  return charges
}

t.test('a computed response counts as a hit against the rate limits', async (t) => {
  const edge = snapshotReplica(agents(100))
  t.equal(await chargesOf(edge, { limit: '5' }), 1, 'the node answers')
  t.equal(await chargesOf(edge, { limit: '6' }), 1, 'the request waits for the snapshot')
  t.equal(await chargesOf(edge, { sort: 'name' }), 0)
  t.equal(await chargesOf(edge, { sort: 'nope' }), 1, 'the node refuses the request')
})

t.test('a caller over the limit gets computed responses, and starts no build', async (t) => {
  const edge = snapshotReplica(agents(100))
  const cost = {
    charge: () => {
      throw new EdgeError(903)
    },
  }
  await edge.get({ limit: '5' })
  await t.rejects(async () => edge.read(edgeRequest('GET /agents', { query: { limit: '6' }, cost })), { code: 903 })
  t.equal(edge.nodes.calls, 1)
  await edge.get({ limit: '7' })
  t.equal(edge.nodes.calls, 2)
  await edge.read(edgeRequest('GET /agents', { query: { sort: 'name' }, cost }))
  t.equal(edge.nodes.calls, 2)
})

t.test(
  'a new filter or sort over many rows counts as a request that costs, and its further pages as hits',
  async (t) => {
    const edge = snapshotReplica(agents(6000))
    await edge.warm()
    const queries: readonly Record<string, string>[] = [{ q: 'name~agent-1' }, { sort: '-name' }, { status: 'active' }]
    for (const query of queries) {
      t.equal(await chargesOf(edge, query), 1, JSON.stringify(query))
      t.equal(await chargesOf(edge, { ...query, offset: '500' }), 0, 'a later page')
    }
    t.equal(await chargesOf(edge, { limit: '7' }), 0, 'a page of all rows')
  },
)

t.test('a caller over the limit gets no new filter over many rows computed, and others do', async (t) => {
  const edge = snapshotReplica(agents(6000))
  await edge.warm()
  const charge = () => {
    throw new EdgeError(903)
  }
  const query = { q: 'name~agent-1' }
  await t.rejects(async () => edge.read(edgeRequest('GET /agents', { query, cost: { charge } })), { code: 903 })
  t.strictSame((await edge.get(query)).body, edge.direct(query))
})
