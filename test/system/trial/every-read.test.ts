import t from 'tap'
import { trialEdge } from './edge.ts'

const READS = 10

t.test(
  'in a trial each read is a call to the manager, also if the same read is in flight or the client has a copy',
  async (t) => {
    const { edge, simulator, throughEdge } = await trialEdge(t)
    const path = '/rules?limit=3'
    const calls = () => simulator.seen.filter(({ url }) => url.startsWith('/rules')).length
    await Promise.all(Array.from({ length: READS }, () => throughEdge(path)))
    t.equal(calls(), READS)
    const response = await fetch(`${edge.url}${path}`, {
      headers: { authorization: edge.authorization('admin'), 'if-none-match': '*' },
    })
    await response.arrayBuffer()
    t.equal(response.status, 200)
    t.equal(response.headers.get('cache-control'), 'no-store')
    t.equal(response.headers.get('etag'), null)
    t.equal(calls(), READS + 1)
  },
)
