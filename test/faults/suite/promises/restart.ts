/** R5 and R6: replicas behind HAProxy are restarted or killed under load. */

import { Agent } from 'undici'
import { startRedis } from '../../../support/redis.ts'
import { type EdgeProcess, headers, startEdgeProcess } from '../edge-process.ts'
import { startHaproxy } from '../haproxy.ts'
import { type Call, type RunningLoad, send, startClients } from '../load.ts'
import { effect, type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'
import { startNodeUpstream } from '../upstream.ts'

const CLIENTS = 500
const DRAIN_MS = 5000
/** A call that takes this long is in flight whenever a replica gets its signal. */
const SLOW_CALL_MS = 1500
const CALL_TIMEOUT_MS = 3000
/** Time in which the balancer notices that a connection has ended. */
const NOTICE_MS = 50
const LEASE_MS = CALL_TIMEOUT_MS + 2000

async function startPair(context: RunContext) {
  const upstream = context.keep(await startNodeUpstream({ delay: 5 }))
  const redis = context.keep(await startRedis())
  const settings = {
    cluster: { limits: { inFlight: 64, queue: 10_000, timeout: `${CALL_TIMEOUT_MS}ms` } },
    cache: { redis: { url: redis.url } },
  }
  const start = async () => context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
  const replicas = [await start(), await start()] as const
  const balancer = context.keep(await startHaproxy(replicas))
  return { upstream, replicas, balancer }
}

/** Reads of 200 agents, most of them cache hits, over persistent connections through the balancer. */
function startLoad(context: RunContext, origin: string): RunningLoad {
  const draw = (): Call => ({
    origin,
    path: `/agents/${String(1 + context.random.below(200)).padStart(3, '0')}`,
    headers,
  })
  return startClients({ clients: context.count(CLIENTS, 60), rate: 2 * context.rate, origin, draw })
}

/** Ends a replica by SIGTERM while a slow call is in flight, and starts it again. Returns what a client noticed. */
async function restart(
  context: RunContext,
  replica: EdgeProcess,
  turn: number,
): Promise<{ ms: number; code: number | null; cut: string[] }> {
  const agent = new Agent()
  const slow = send({ origin: replica.url, path: `/agents/9${String(turn).padStart(2, '0')}/key`, headers }, agent)
  await new Promise((resolve) => setTimeout(resolve, 100))
  const begin = performance.now()
  replica.signal(context.planted ? 'SIGKILL' : 'SIGTERM')
  const code = await replica.ended()
  const ms = performance.now() - begin
  const { failure } = await slow
  await agent.destroy()
  await replica.start()
  return { ms, code, cut: failure === undefined ? [] : [failure] }
}

/** A second signal ends the process at once, whatever is in flight. */
async function secondSignal(replica: EdgeProcess): Promise<number> {
  replica.signal('SIGTERM')
  while ((await replica.readiness()) !== 503) await new Promise((resolve) => setTimeout(resolve, 20))
  const begin = performance.now()
  replica.signal('SIGTERM')
  await replica.ended()
  return performance.now() - begin
}

const rollingRestart: FaultPromise = {
  id: 'R5',
  title: 'SIGTERM under load: no reset, no 503, requests in flight are answered',
  planted: 'replicas end by SIGKILL',
  async run(context): Promise<readonly Figure[]> {
    const { upstream, replicas, balancer } = await startPair(context)
    upstream.behave({ delay: 5, heedsBypass: true, slow: { path: '/key', ms: SLOW_CALL_MS } })
    const load = startLoad(context, balancer.url)
    load.phase('restarts')
    const restarts = []
    for (let turn = 0; turn < context.count(20, 2); turn += 1) {
      const replica = replicas[turn % 2] ?? replicas[0]
      restarts.push(await restart(context, replica, turn))
      await balancer.replicasUp(2)
    }
    const { restarts: phase } = await load.stop()
    const hard = await secondSignal(replicas[0])
    const answered = phase?.requests ?? 0
    return [
      effect(
        'restarts under load',
        `${restarts.length} with ${answered} requests`,
        answered > 0 && restarts.length > 0,
      ),
      none(`failures of ${answered} requests`, phase?.failures ?? []),
      none(
        'requests in flight that were cut',
        restarts.flatMap(({ cut }) => cut),
      ),
      none(
        'exit codes other than 0',
        restarts.flatMap(({ code }) => (code === 0 ? [] : [String(code)])),
      ),
      context.within('longest exit', Math.max(...restarts.map(({ ms }) => ms)), DRAIN_MS + SLOW_CALL_MS + 1000),
      context.within('exit after a second SIGTERM', hard, 1000),
    ]
  },
}

const killedReplica: FaultPromise = {
  id: 'R6',
  title: 'One replica killed: only its requests in flight fail, and no key stays blocked',
  planted: 'the replica is not killed',
  async run(context) {
    const { upstream, replicas, balancer } = await startPair(context)
    const [victim, other] = replicas
    const load = startLoad(context, balancer.url)
    load.phase('before')
    await new Promise((resolve) => setTimeout(resolve, context.duration(5000, 2000)))
    upstream.behave({ delay: 5, heedsBypass: true, slow: { path: '/agents/901', ms: SLOW_CALL_MS } })
    const agent = new Agent()
    // The victim holds the fetch lock of one key and the fence of another when it ends.
    const lost = [
      send({ origin: victim.url, path: '/agents/901', headers }, agent),
      send({ origin: victim.url, path: '/agents/901/group/web', method: 'PUT', headers }, agent),
    ]
    await new Promise((resolve) => setTimeout(resolve, 300))
    await context.inject(() => victim.kill())
    const endedAt = performance.now()
    load.phase('after')
    const blocked = await send({ origin: other.url, path: '/agents/901', headers }, agent)
    const unanswered = (await Promise.all(lost)).filter(({ status }) => status === 0).length
    await new Promise((resolve) => setTimeout(resolve, context.duration(10_000, 3000)))
    const phases = await load.stop()
    await agent.destroy()
    const samples = Object.values(phases).flatMap((phase) => phase.samples)
    const failed = samples.filter(({ failure }) => failure !== undefined)
    // The balancer reads the end of a connection a moment later, and may have sent one more request on it.
    const noticedAt = endedAt + NOTICE_MS + context.allowance
    const late = failed.filter(({ begin }) => begin > noticedAt).map(({ failure }) => failure ?? '')
    const inFlight = samples.filter(({ begin, ms }) => begin <= noticedAt && begin + ms >= endedAt).length
    return [
      effect('requests on the killed replica without a response', unanswered, unanswered > 0),
      none(`failures among ${phases.after?.requests ?? 0} requests that began after it`, late),
      figure('requests in flight that failed', failed.length, `≤ ${inFlight} in flight`, failed.length <= inFlight),
      none('the key of its lock and fence', blocked.failure === undefined ? [] : [blocked.failure]),
      context.within('its key is answered after', blocked.ms, LEASE_MS + SLOW_CALL_MS),
    ]
  },
}

export const restartPromises: readonly FaultPromise[] = [rollingRestart, killedReplica]
