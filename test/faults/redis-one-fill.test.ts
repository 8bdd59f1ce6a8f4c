import t from 'tap'
import { authorization } from './coherence/processes.ts'
import { flood } from './redis-flood.ts'
import { type Stage, startStage } from './redis-stage.ts'

let stage: Stage

t.before(async () => {
  stage = await startStage({ timeout: '3s', step: '1s' })
})
t.teardown(() => stage.close())

t.test('a thousand equal misses through two replicas are one call', async (t) => {
  const { answered, calls } = await flood(stage, { requests: 1000, path: '/agents/001', killHolder: false })
  t.equal(answered, 1000)
  t.equal(calls, 1)
})

t.test('the replica that fetches is killed: two calls at most, and all are answered', async (t) => {
  const { answered, calls, time } = await flood(stage, { requests: 1000, path: '/agents/002', killHolder: true })
  t.equal(answered, 1000)
  t.ok(calls <= 2, `${calls} calls`)
  t.comment(`${Math.round(time)} ms`)
  await stage.replicas[0]?.restart()
})

t.test('a replica is killed in the middle of a write: what it fenced is read past the cache', async (t) => {
  const [first, second] = stage.replicas.map(({ url }) => url)
  const read = async () => {
    const answer = await fetch(`${second}/agents/003`, { headers: { authorization } })
    return ((await answer.json()) as { data: { value: number } }).data.value
  }
  t.equal(await read(), 0)
  stage.upstream.behave({ delay: 0, steady: 400, heedsBypass: true })
  const written = fetch(`${first}/agents/003/group/web`, { method: 'PUT', headers: { authorization } })
  const lost = t.rejects(written)
  await new Promise((done) => setTimeout(done, 150))
  await stage.replicas[0]?.kill()
  await lost
  stage.upstream.behave({ delay: 0, heedsBypass: true })
  t.equal(await read(), 0, 'the upstream has not acted yet')
  await new Promise((done) => setTimeout(done, 400))
  t.equal(await read(), 1, 'and now it has: nothing old is served')
  await stage.replicas[0]?.restart()
})
