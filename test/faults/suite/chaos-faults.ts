/** The faults of a chaos run. Each takes effect for a time and leaves everything in its normal state. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent } from 'undici'
import type { RedisServer } from '../../support/redis.ts'
import type { Fault } from '../proxy.ts'
import { type EdgeProcess, headers } from './edge-process.ts'
import type { Balancer } from './haproxy.ts'
import { send } from './load.ts'
import type { NodeUpstream } from './upstream.ts'

export interface ChaosStage {
  readonly replicas: readonly EdgeProcess[]
  readonly balancer: Balancer
  readonly redis: RedisServer
  readonly upstream: NodeUpstream
}

/** `ms`: the time of the fault. `target`: a random number that chooses the replica or the node. */
export type ChaosFault = (stage: ChaosStage, ms: number, target: number) => Promise<void>

export const NORMAL = { delay: 4, heedsBypass: true } as const
const SLOW_CONNECTIONS = 200
const EQUAL_MISSES = 500

const pick = <T>(list: readonly T[], target: number): T => {
  const chosen = list[target % list.length]
  if (chosen === undefined) throw new RangeError('nothing to choose from')
  return chosen
}

const node =
  (fault: Fault): ChaosFault =>
  async ({ upstream }, ms, target) => {
    const { proxy } = pick(upstream.nodes, target)
    await proxy.set(fault)
    await wait(ms)
    await proxy.set({ kind: 'pass' })
  }

export const chaosFaults: Readonly<Record<string, ChaosFault>> = {
  'Redis killed': async ({ redis }, ms) => {
    await redis.kill()
    await wait(ms)
    await redis.restart()
  },
  'Redis paused': async ({ redis }, ms) => {
    redis.pause()
    await wait(ms)
    redis.resume()
  },
  'Redis flushed': async ({ redis }) => void (await redis.client().flushall()),
  'Redis full': async ({ redis }, ms) => {
    await redis.client().config('SET', 'maxmemory', '1')
    await wait(ms)
    await redis.client().config('SET', 'maxmemory', '0')
  },
  'Redis garbage': async ({ redis }) => {
    const client = redis.client()
    for (const key of await client.keys('edge:[cp]:*')) await client.set(key, randomBytes(1 + (key.length % 97)))
  },
  'replica restarted': async ({ replicas, balancer }, _, target) => {
    const replica = pick(replicas, target)
    replica.signal('SIGTERM')
    await replica.ended()
    await replica.start()
    await balancer.replicasUp(replicas.length)
  },
  'replica killed': async ({ replicas, balancer }, _, target) => {
    const replica = pick(replicas, target)
    await replica.kill()
    await replica.start()
    await balancer.replicasUp(replicas.length)
  },
  'replica paused': async ({ replicas, balancer }, ms, target) => {
    const replica = pick(replicas, target)
    replica.pause()
    await wait(ms)
    replica.resume()
    await balancer.replicasUp(replicas.length)
  },
  'node black-holed': node({ kind: 'stall' }),
  'node refuses': node({ kind: 'refuse' }),
  'node resets': node({ kind: 'reset' }),
  'node cuts responses': node({ kind: 'cut', after: 60 }),
  'node drips': node({ kind: 'drip', ms: 20 }),
  'node half-closes': node({ kind: 'halfClose' }),
  'nodes slow': async ({ upstream }, ms) => {
    upstream.behave({ ...NORMAL, steady: 150 })
    await wait(ms)
    upstream.behave(NORMAL)
  },
  'all nodes refuse': async ({ upstream }, ms) => {
    for (const { proxy } of upstream.nodes) await proxy.set({ kind: 'refuse' })
    await wait(ms)
    for (const { proxy } of upstream.nodes) await proxy.set({ kind: 'pass' })
  },
  'nodes reloaded': async ({ replicas, upstream }, ms) => {
    const nodes = upstream.nodes.map(({ name, type, url }) => ({ name, type, url }))
    await Promise.all(replicas.map((replica) => replica.configure({ cluster: { nodes: nodes.slice(0, -1) } })))
    await wait(ms)
    await Promise.all(replicas.map((replica) => replica.configure({ cluster: { nodes } })))
  },
  'equal misses': async ({ balancer }, _, target) => {
    const agent = new Agent({ pipelining: 1 })
    const call = { origin: balancer.url, path: `/agents/${1000 + (target % 1000)}`, headers }
    await Promise.all(Array.from({ length: EQUAL_MISSES }, () => send(call, agent)))
    await agent.destroy()
  },
  'clients leave': async ({ balancer }, ms, target) => {
    for (const until = performance.now() + ms; performance.now() < until; await wait(20)) {
      const socket = connect(Number(new URL(balancer.url).port), '127.0.0.1').on('error', () => undefined)
      socket.write(
        `GET /agents/${2000 + (target % 500)} HTTP/1.1\r\nhost: x\r\nauthorization: ${headers.authorization}\r\n\r\n`,
      )
      setTimeout(() => socket.resetAndDestroy(), 5)
    }
  },
  'slow clients': async ({ replicas }, ms, target) => {
    const { port } = pick(replicas, target)
    const sockets = Array.from({ length: SLOW_CONNECTIONS }, () =>
      connect(port, '127.0.0.1', function (this: import('node:net').Socket) {
        this.write('GET /agents HTTP/1.1\r\nhost: x\r\nx-slow: ')
      }).on('error', () => undefined),
    )
    for (const until = performance.now() + ms; performance.now() < until; await wait(500))
      for (const socket of sockets) if (socket.writable) socket.write('x')
    for (const socket of sockets) socket.destroy()
  },
}
