import type { ChildProcess } from 'node:child_process'
import t, { type Test } from 'tap'
import { startRedis } from '../../../support/redis.ts'
import { forkScript } from '../../../support/typescript/script.ts'
import { fill, markOf } from './contract.ts'
import { eventually, replica, shortTimes, sleep } from './replicas.ts'

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
      const answer = next()
      child.send([method, text])
      return answer
    },
  }
}

t.test('a paused replica holds a write up for its lease at most, and serves nothing old when it goes on', async (t) => {
  const { store, events } = await replica(t, server)
  const { child, ask } = await start(t)
  await fill(store, 'old')
  await ask('look')
  await eventually(async () => ((await ask('look')) as { near?: boolean }).near === true)
  child.kill('SIGSTOP')
  const begin = performance.now()
  const fence = await store.fence(['agent:001'])
  const took = performance.now() - begin
  t.equal(fence.state, 'active')
  t.ok(events.includes('unheard'))
  t.ok(took < shortTimes.lease * 1.5 + 500, `${took}`)
  await fence.lift([])
  await fill(store, 'new')
  child.kill('SIGCONT')
  for (let at = 0; at < 20; at += 1) t.not(((await ask('look')) as { text: string }).text, 'old')
  await eventually(async () => ((await ask('look')) as { text: string }).text === 'new')
  const again = performance.now()
  await (await store.fence(['agent:001'])).lift([])
  t.ok(performance.now() - again < shortTimes.lease, 'with all replicas there, a write waits for messages only')
})

t.test('a killed replica: its claim is free after its patience, its fence stands for its lease', async (t) => {
  const { store } = await replica(t, server)
  const { child, ask } = await start(t)
  await eventually(async () => (await ask('claim', '900')) === true)
  const follower = await store.acquireFetchLock('k', await markOf(store), 900)
  if (follower.held) throw new Error('held twice')
  let settled = false
  const end = follower.settled.then(() => {
    settled = true
  })
  await sleep(1500)
  t.equal(settled, false, 'a holder that lives keeps it')
  t.equal(await ask('fence', 'agent:009'), 'active')
  child.kill('SIGKILL')
  await end
  t.match(await store.acquireFetchLock('k', await markOf(store), 900), { held: true })
  t.match(await store.lookup('k9', ['agent:009']), { kind: 'miss', epochs: { fenced: true } })
  const begin = performance.now()
  await (await store.fence(['agent:002'])).lift([])
  t.ok(performance.now() - begin < shortTimes.lease, 'nobody waits for a replica whose registration ran out')
})
