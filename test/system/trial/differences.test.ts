import t from 'tap'
import { trialEdge } from './edge.ts'

t.test('a trial answers with the present data of the manager and reports where the cache differs', async (t) => {
  const { edge, throughEdge, atManager, count } = await trialEdge(t)
  const path = '/agents/groups?search=secret-word'

  const first = await throughEdge(path)
  t.match(first, { status: 200, cacheStatus: 'manager-edge; fwd=bypass; detail=trial-miss' })
  const unchanged = await throughEdge(path)
  t.match(unchanged, { status: 200, cacheStatus: 'manager-edge; fwd=bypass; detail=trial-hit-same' })
  t.equal(unchanged.body, (await atManager(path)).body)

  await atManager('/agents/groups/secret-word', { method: 'PUT' })
  const changed = await throughEdge(path)
  t.equal(changed.cacheStatus, 'manager-edge; fwd=bypass; detail=trial-hit-different')
  t.match(changed.body, /secret-word/)
  t.equal(changed.body, (await atManager(path)).body, 'byte for byte the response of the manager')

  t.equal(await count('agents', 'miss', 'none'), 1)
  t.equal(await count('agents', 'hit', 'same'), 1)
  t.equal(await count('agents', 'hit', 'different'), 1)

  const lines = edge.logged.filter((line) => line.includes('trial: responses differ'))
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0] ?? '{}'), { route: '/agents/groups', group: 'agents', cache: 'hit', difference: 'total' })
  t.notMatch(lines[0], /secret-word/, 'no value of the query, and nothing of the body')
})

t.test('an error of the manager that the cache would have hidden is returned and reported', async (t) => {
  const { edge, throughEdge, atManager, count } = await trialEdge(t)
  const path = '/agents/005'
  await throughEdge(path)
  await atManager('/agents/005?purge=true', { method: 'DELETE' })
  const removed = await throughEdge(path)
  t.match(removed, { cacheStatus: /trial-hit-different/, body: /"error":1701/ })
  t.equal(removed.body, (await atManager(path)).body)
  t.equal(await count('agents', 'hit', 'different'), 1)
  t.match(
    edge.logged.find((line) => line.includes('responses differ')),
    /"difference":"error"/,
  )
})
