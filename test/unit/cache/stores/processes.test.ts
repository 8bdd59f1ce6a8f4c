import type { ChildProcess } from 'node:child_process'
import t, { type Test } from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { forkScript } from '../../../support/typescript/script.ts'
import { epochsOf, fill } from './contract.ts'
import { replica, shortTimes } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

interface Process {
  ask(method: string, text?: string): Promise<unknown>
  readonly child: ChildProcess
}

async function start(t: Test): Promise<Process> {
  const child = forkScript(new URL('fixtures/replica.ts', import.meta.url), [server.url])
  t.teardown(() => child.kill('SIGKILL'))
  const next = () =>
    new Promise<unknown>((resolve) => child.once('message', (message: { value: unknown }) => resolve(message.value)))
  await next()
  return {
    child,
    ask(method, text = '') {
      const response = next()
      child.send([method, text])
      return response
    },
  }
}

t.test('a paused replica delays a write by its lease at most, and serves nothing old afterwards', async (t) => {
  const { store, events } = await replica(t, server)
  const { child, ask } = await start(t)
  await fill(store, 'old')
  await ask('lookup')
  await eventually(async () => ((await ask('lookup')) as { isLocal?: boolean }).isLocal === true)
  child.kill('SIGSTOP')
  const begin = performance.now()
  const fence = await store.fence(['agent:001'])
  const took = performance.now() - begin
  t.equal(fence.state, 'active')
  t.ok(events.includes('unacknowledged'))
  // The paused replica acknowledges nothing, so only its lease ends the wait. Redis may be slow on a busy machine.
  t.ok(took < shortTimes.lease * 10, `${took}`)
  await fence.lift([])
  await fill(store, 'new')
  child.kill('SIGCONT')
  for (let at = 0; at < 20; at += 1) t.not(((await ask('lookup')) as { text: string }).text, 'old')
  await eventually(async () => ((await ask('lookup')) as { text: string }).text === 'new')
  const expired = () => events.filter((event) => event === 'unacknowledged').length
  // If all replicas respond, a write waits for their acknowledgements only. On a busy machine one of them may be late.
  await eventually(async () => {
    const before = expired()
    await (await store.fence(['agent:001'])).lift([])
    return expired() === before
  })
})

t.test('the fetch lock of a killed replica expires after its patience, its fence after its lease', async (t) => {
  const { store, events } = await replica(t, server)
  const { child, ask } = await start(t)
  await eventually(async () => (await ask('lock', '900')) === true)
  const follower = await store.acquireFetchLock('k', await epochsOf(store), 900)
  if (follower.held) throw new Error('held twice')
  let settled = false
  const end = follower.settled.then(() => {
    settled = true
  })
  const client = server.client()
  const [key = ''] = await client.keys('edge:l:*')
  let left = await client.pttl(key)
  await eventually(async () => {
    const before = left
    left = await client.pttl(key)
    return left > before
  })
  t.equal(settled, false, 'a live holder renews its lock')
  t.equal(await ask('fence', 'agent:009'), 'active')
  child.kill('SIGKILL')
  await end
  t.match(await store.acquireFetchLock('k', await epochsOf(store), 900), { held: true })
  t.match(await store.lookup('k9', ['agent:009']), { kind: 'miss', epochs: { fenced: true } })
  events.length = 0
  await (await store.fence(['agent:002'])).lift([])
  t.notOk(events.includes('unacknowledged'), 'writes do not wait for a replica whose lease expired')
})
