/** The faults of a chaos run. Each takes effect for a time and leaves everything in its normal state. */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent } from 'undici'
import type { RedisServer } from '../../support/redis.ts'
import { healLink, type Link, type LinkEffect, linkFaults } from '../coherence/links.ts'
import { createRandom } from '../coherence/random.ts'
import type { Fault } from '../proxy.ts'
import { leaveAll } from './departures.ts'
import { type EdgeProcess, type EdgeProcessOptions, headers } from './edge-process.ts'
import type { Balancer } from './haproxy.ts'
import { send } from './load.ts'
import type { NodeUpstream } from './upstream.ts'

export interface ChaosStage {
  readonly replicas: readonly EdgeProcess[]
  readonly balancer: Balancer
  readonly redis: RedisServer
  readonly upstream: NodeUpstream
  /** The nodes as each replica reaches them, over its own links. */
  readonly nodes: ReadonlyMap<EdgeProcess, EdgeProcessOptions['nodes']>
  readonly links: readonly Link[]
  /** Called at the end of each fault of a link. */
  readonly onLinkFault: (effect: LinkEffect) => void
  /** Returns the folder of the build that the next upgrade installs. */
  readonly nextBuild: () => string
}

/** `ms`: the time of the fault. `target`: a random number that chooses the replica or the node. */
export type ChaosFault = (stage: ChaosStage, ms: number, target: number) => Promise<void>

export const NORMAL = { delay: 4, heedsBypass: true } as const
const SLOW_CONNECTIONS = 200
const EQUAL_MISSES = 500
const LEAVING_CLIENTS = 100

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

const allNodes =
  (fault: Fault): ChaosFault =>
  async ({ upstream }, ms) => {
    for (const { proxy } of upstream.nodes) await proxy.set(fault)
    await wait(ms)
    for (const { proxy } of upstream.nodes) await proxy.set({ kind: 'pass' })
  }

/** Ends a replica by SIGTERM and starts it again, as an operator does; `build`: with this build. */
async function restart({ replicas, balancer }: ChaosStage, replica: EdgeProcess, build?: string): Promise<void> {
  replica.signal('SIGTERM')
  await replica.ended()
  await replica.start(build)
  await balancer.replicasUp(replicas.length)
}

/** A link that carries fewer chunks within this time, in milliseconds, is idle: a fault may have no effect on it. */
const BUSY_CHUNKS = 5
const BUSY_MS = 500

/** Returns the links that are in use; all, if none is. */
async function busyOf(links: readonly Link[]): Promise<readonly Link[]> {
  const before = links.map(({ proxy }) => proxy.received())
  await wait(BUSY_MS)
  const busy = links.filter(({ proxy }, at) => proxy.received() - (before[at] ?? 0) >= BUSY_CHUNKS)
  return busy.length === 0 ? links : busy
}

/** One fault of one link in use: between a replica and Redis, or between a replica and a node. */
const link =
  (kind: string, to: Link['to']): ChaosFault =>
  async ({ links, onLinkFault }, ms, target) => {
    const random = createRandom(target)
    const { name, proxy } = random.of(await busyOf(links.filter((each) => each.to === to)))
    await proxy.set(linkFaults[kind]?.(random) ?? { kind: 'pass' })
    await wait(ms)
    onLinkFault({ kind, link: name, times: 1, affected: proxy.affected() })
    await healLink({ proxy }, random)
  }

const ofLinks = Object.fromEntries(
  (['Redis', 'node'] as const).flatMap((to) =>
    Object.keys(linkFaults).map((kind) => [`link to ${to}: ${kind}`, link(kind, to)]),
  ),
)

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
  'Redis stalled': async ({ redis }, ms) => {
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
  'replica restarted': (stage, _, target) => restart(stage, pick(stage.replicas, target)),
  'replicas upgraded': async (stage) => {
    const build = stage.nextBuild()
    for (const replica of stage.replicas) await restart(stage, replica, build)
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
  ...ofLinks,
  'one replica without Redis': link('partition', 'Redis'),
  // The links of all replicas to one node. The other nodes are as quick as before.
  'node slow': async ({ links, onLinkFault }, ms, target) => {
    const used = await busyOf(links.filter(({ to }) => to === 'node'))
    const names = [...new Set(used.map(({ name }) => name.split(' – ')[1]))]
    const own = links.filter(({ name }) => name.endsWith(` – ${pick(names, target)}`))
    const slow = { kind: 'link', toClient: { delay: 100 + (target % 900) } } as const
    await Promise.all(own.map(({ proxy }) => proxy.set(slow)))
    await wait(ms)
    for (const { name, proxy } of own)
      onLinkFault({ kind: 'node slow', link: name, times: 1, affected: proxy.affected() })
    await Promise.all(own.map(({ proxy }) => proxy.set({ kind: 'pass' })))
  },
  'nodes slow': async ({ upstream }, ms) => {
    upstream.behave({ ...NORMAL, steady: 150 })
    await wait(ms)
    upstream.behave(NORMAL)
  },
  'all nodes refuse': allNodes({ kind: 'refuse' }),
  'outage of minutes': allNodes({ kind: 'refuse' }),
  'outage of minutes, nodes hang': allNodes({ kind: 'stall' }),
  'outage of minutes, Redis stalled': async (stage, ms, target) => {
    const ended = allNodes({ kind: 'refuse' })(stage, ms, target)
    await wait(ms / 2)
    stage.redis.pause()
    await wait(ms / 4)
    stage.redis.resume()
    await ended
  },
  'nodes reloaded': async ({ nodes }, ms) => {
    const configure = (end?: number) =>
      Promise.all([...nodes].map(([replica, own]) => replica.configure({ cluster: { nodes: own.slice(0, end) } })))
    await configure(-1)
    await wait(ms)
    await configure()
  },
  'equal misses': async ({ balancer }, _, target) => {
    const agent = new Agent({ pipelining: 1 })
    const call = { origin: balancer.url, path: `/agents/${1000 + (target % 1000)}`, headers }
    await Promise.all(Array.from({ length: EQUAL_MISSES }, () => send(call, agent)))
    await agent.destroy()
  },
  // While the nodes are slow, so that most calls of these clients are queued when they leave.
  'clients leave': async ({ balancer, replicas, upstream }, ms, target) => {
    const random = createRandom(target)
    const ports = [Number(new URL(balancer.url).port), ...replicas.map(({ port }) => port)]
    upstream.behave({ ...NORMAL, steady: 300 })
    for (const until = performance.now() + ms; performance.now() < until; await wait(200))
      await leaveAll({ ports, clients: LEAVING_CLIENTS, within: 60, random })
    upstream.behave(NORMAL)
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

/** Long faults: these factors times 3 to 5.5 seconds, so at most two minutes. */
export const longFaults: Readonly<Record<string, number>> = {
  'Redis stalled': 6,
  'one replica without Redis': 6,
  'outage of minutes': 20,
  'outage of minutes, nodes hang': 20,
  'outage of minutes, Redis stalled': 20,
}

/** The faults of the worst hour. Every plan has them, however short it is. */
export const worstHourFaults: readonly string[] = [
  'node slow',
  'nodes slow',
  'clients leave',
  'outage of minutes',
  'outage of minutes, nodes hang',
  'outage of minutes, Redis stalled',
  'Redis stalled',
  'link to Redis: latency',
  'one replica without Redis',
  'replica killed',
  'replicas upgraded',
]
