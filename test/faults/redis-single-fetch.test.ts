import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { authorization } from './coherence/processes.ts'
import { flood } from './redis-flood.ts'
import { type Stage, startStage } from './redis-stage.ts'

let stage: Stage

t.before(async () => {
  stage = await startStage({ timeout: '3s', commandTimeout: '1s' })
})
t.teardown(() => stage.close())

t.test('a thousand identical misses through two replicas cause one upstream call', async (t) => {
  const { answered, calls } = await flood(stage, { requests: 1000, path: '/agents/001', killHolder: false })
  t.equal(answered, 1000)
  t.equal(calls, 1)
})

t.test('if the fetching replica is killed, at most two upstream calls serve all requests', async (t) => {
  const { answered, calls, time } = await flood(stage, { requests: 1000, path: '/agents/002', killHolder: true })
  t.equal(answered, 1000)
  t.ok(calls <= 2, `${calls} calls`)
  t.comment(`${Math.round(time)} ms`)
  await stage.replicas[0]?.restart()
})

t.test('if a replica is killed during a write, its fenced tags are read from the upstream', async (t) => {
  const [first, second] = stage.replicas.map(({ url }) => url)
  const read = async () => {
    const response = await fetch(`${second}/agents/003`, { headers: { authorization } })
    return ((await response.json()) as { data: { value: number } }).data.value
  }
  t.equal(await read(), 0)
  stage.upstream.behave({ delay: 0, steady: 1500, heedsBypass: true })
  const written = fetch(`${first}/agents/003/group/web`, { method: 'PUT', headers: { authorization } })
  const lost = t.rejects(written)
  await stage.upstream.report()
  await eventually(async () => (await stage.upstream.report()).calls > 0)
  await stage.replicas[0]?.kill()
  await lost
  stage.upstream.behave({ delay: 0, heedsBypass: true })
  t.equal(await read(), 0, 'the upstream has not applied the write yet')
  await eventually(async () => (await read()) === 1)
  t.equal(await read(), 1, 'the upstream has applied it: nothing old is served')
  await stage.replicas[0]?.restart()
})
