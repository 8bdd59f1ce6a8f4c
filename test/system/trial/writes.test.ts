import t from 'tap'
import { trialEdge } from './edge.ts'

t.test('a trial rejects writes and sends nothing to the manager', async (t) => {
  const { simulator, throughEdge } = await trialEdge(t)
  const writes: readonly (readonly [method: string, path: string])[] = [
    ['PUT', '/agents/groups/new'],
    ['DELETE', '/agents/001'],
    ['PUT', '/agents/restart'],
  ]
  for (const [method, path] of writes) {
    const rejected = await throughEdge(path, { method })
    t.equal(rejected.status, 403, `${method} ${path}`)
    t.match(JSON.parse(rejected.body), { error: 942, message: 'Read-only trial; write rejected' })
  }
  t.strictSame(
    simulator.seen.filter(({ method }) => method !== 'GET'),
    [],
  )
  t.equal((await throughEdge('/cache', { method: 'DELETE' })).status, 200, 'the cache of the edge itself can be purged')
})
