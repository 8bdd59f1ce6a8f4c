/** R10: equal misses on two replicas cause one call. */
import { startRedis } from '../../../support/redis.ts'
import { flood } from '../../redis-flood.ts'
import { startStage } from '../../redis-stage.ts'
import { sendAll } from '../calls.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, phaseOf } from '../load.ts'
import { type FaultPromise, type Figure, figure, none, type RunContext } from '../promise.ts'
import { startNodeUpstream } from '../upstream.ts'

const REQUESTS = 10_000
const UPSTREAM_MS = 300
const LEASE_MS = 3000 + 2000
/** Maximum time for sending these requests and reading their responses. */
const MAX_SENDING_MS = 30_000

/** Longer than a busy machine needs to send all requests: a response must not expire meanwhile. */
const TTL = '60s'

/** It compares some hits with a response of the upstream, and this promise counts the calls. */
const divergenceCheck = { sampleRatio: 0 }

/** Two replicas that have just become ready, with default settings but for the divergence check and the TTL. */
async function freshReplicas(context: RunContext): Promise<Figure[]> {
  const upstream = context.keep(await startNodeUpstream({ steady: UPSTREAM_MS }))
  const redis = context.keep(await startRedis())
  // Planted: the replicas share nothing, so each of them has to fetch.
  const settings = {
    cache: { divergenceCheck, ttl: { agents: TTL }, ...(!context.planted && { redis: { url: redis.url } }) },
  }
  const start = async () => context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
  const replicas = await Promise.all([start(), start()])
  const path = '/agents/001'
  const requests = context.count(REQUESTS, 1000)
  const calls = Array.from({ length: requests }, (_, at): Call => {
    const origin = replicas[at % 2]?.url ?? ''
    const verify: Call['verify'] = ({ status, text }) =>
      status === 200 && text.includes('"id":"001"') ? undefined : `${status} ${text.slice(0, 120)}`
    return { origin, path, headers, verify }
  })
  const phase = phaseOf(await sendAll(calls, requests))
  const reached = (await upstream.report()).byPath[`GET ${path}`] ?? 0
  return [
    figure(`upstream calls for ${requests} equal misses on fresh replicas`, reached, '1', reached === 1),
    none('failures', phase.failures),
  ]
}

async function killedHolder(context: RunContext): Promise<Figure[]> {
  const stage = context.keep(await startStage({ timeout: '3s', commandTimeout: '1s' }))
  const requests = context.count(REQUESTS, 1000)
  const control = await flood(stage, { requests, path: '/agents/901', killHolder: false })
  const { failures, calls, time } = await flood(stage, { requests, path: '/agents/902', killHolder: !context.planted })
  // After the fault one replica does the work of two, and half of the requests are sent twice.
  const sending = Math.min(MAX_SENDING_MS, 2 * control.time)
  return [
    figure('holder of the fetch lock killed: upstream calls', calls, '≤ 2', calls <= 2),
    none(`holder killed: failures of ${requests} requests`, failures),
    context.within(
      `holder killed: last response (${control.time.toFixed(0)} without the fault)`,
      time,
      LEASE_MS + sending,
    ),
  ]
}

export const missPromises: readonly FaultPromise[] = [
  {
    id: 'R10',
    title: '10,000 equal misses on two replicas: one upstream call',
    planted: 'the replicas share no Redis',
    run: async (context) => [...(await freshReplicas(context)), ...(await killedHolder(context))],
  },
]
