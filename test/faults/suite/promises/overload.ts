/** R22 and R25: a cold start under load, and the order in which load is shed. */
import { startRedis } from '../../../support/redis.ts'
import { headers, startEdgeProcess } from '../edge-process.ts'
import { type Call, type Sample, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, figure, NotRun, none } from '../promise.ts'
import { IN_FLIGHT, MOST_CALLS, NODE_MS, QUEUE, startSmall, verifyOrShed } from '../small-edges.ts'
import { startNodeUpstream } from '../upstream.ts'

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const coldStart: FaultPromise = {
  id: 'R22',
  title: 'Cold start with an empty Redis: no overload of the nodes, no failure but announced sheds',
  planted: 'the concurrency limit is ten times as high, and no response is stored',
  async run(context) {
    const redis = context.keep(await startRedis())
    const limits = { inFlight: context.planted ? 10 * IN_FLIGHT : IN_FLIGHT }
    const cache = { enabled: !context.planted, ttl: { agents: '60s' }, redis: { url: redis.url } }
    const { upstream, replicas } = await startSmall(context, limits, cache)
    const draw = (): Call => {
      const id = String(1 + context.random.below(100)).padStart(3, '0')
      return { origin: context.random.of(replicas).url, path: `/agents/${id}`, headers, verify: verifyOrShed }
    }
    await upstream.report()
    const meter = context.meter(upstream, ...replicas)
    const load = startSteadyLoad({ rate: 2 * context.rate, draw, meter })
    load.phase('cold')
    await wait(context.duration(30_000, 3000))
    load.phase('warm')
    await wait(context.duration(10_000, 2000))
    const { cold, warm } = await load.stop()
    const { maxConcurrent, calls } = await upstream.report()
    return [
      effect('cold: upstream calls', calls, calls > 0),
      none(`failures of ${(cold?.requests ?? 0) + (warm?.requests ?? 0)} requests`, [
        ...(cold?.failures ?? []),
        ...(warm?.failures ?? []),
      ]),
      figure('upstream concurrency', maxConcurrent, `≤ ${MOST_CALLS}`, maxConcurrent <= MOST_CALLS),
      context.within('p99 afterwards', warm?.p99 ?? Number.POSITIVE_INFINITY, 100),
      figure(
        'hits afterwards',
        `${warm?.hits} of ${warm?.requests}`,
        '≥ 95 %',
        (warm?.hits ?? 0) >= 0.95 * (warm?.requests ?? 1),
      ),
    ]
  },
}

const SHED_FLIGHT = 4
/** Each reads one agent every two seconds. Reads of one address that follow each other without a pause are bulk. */
const PEOPLE = 90
/** If the edge or the node had no processor for more of the time, the load was more than three times the capacity. */
const MAX_STARVED_SHARE = 0.3

const shedOrder: FaultPromise = {
  id: 'R25',
  title: 'Three times the capacity: probes and writes are served, bulk reads are shed first',
  planted: 'the interactive reads alone are three times the capacity',
  async run(context) {
    const upstream = context.keep(await startNodeUpstream({ steady: NODE_MS }))
    const limits = { inFlight: SHED_FLIGHT, queue: QUEUE }
    const listen = { trustedProxies: ['127.0.0.1'] }
    const settings = { listen, cluster: { limits }, cache: { enabled: false } }
    const edge = context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
    const capacity = (1000 * SHED_FLIGHT) / NODE_MS
    let at = 0
    let people = 0
    // Of three times the capacity: 3 % writes, 15 % interactive reads, the rest bulk reads.
    const share = context.planted ? 97 : 15
    const draw = (): Call => {
      at += 1
      const call = { origin: edge.url, headers, verify: verifyOrShed }
      if (at % 100 < 3) return { ...call, kind: 'write', method: 'PUT', path: `/agents/${1000 + at}/group/web` }
      if (at % 100 < 3 + share) {
        people += 1
        const address = { 'x-forwarded-for': `10.0.0.${people % PEOPLE}` }
        return { ...call, kind: 'interactive', path: `/agents/${1000 + at}`, headers: { ...headers, ...address } }
      }
      return { ...call, kind: 'bulk', path: `/experimental/syscollector/os?limit=500&offset=${at % 50}` }
    }
    const meter = context.meter(upstream, edge)
    const load = startSteadyLoad({ rate: 3 * capacity, draw })
    load.phase('all')
    const began = performance.now()
    const probes: number[] = []
    for (const until = performance.now() + context.duration(30_000, 4000); performance.now() < until; await wait(100))
      probes.push(await edge.readiness())
    const ended = performance.now()
    const { all } = await load.stop()
    const sheds = (kind: string) => all?.of(kind).samples.filter(isShedSample) ?? []
    const served = (kind: string) => 1 - sheds(kind).length / Math.max(1, all?.of(kind).requests ?? 0)
    const percent = (kind: string) => `${(100 * served(kind)).toFixed(1)} %`
    // On a machine whose cores are busy, the edge itself is slower than the node.
    const least = context.allowance > 0 ? 0.3 : 0.7
    const starved = meter.within(began, ended) / (ended - began)
    const isStarved = !context.planted && context.allowance === 0 && starved > MAX_STARVED_SHARE
    if (isStarved && served('interactive') < least)
      throw new NotRun(
        `the processes had no processor for ${(100 * starved).toFixed(0)} % of the time, and ${percent('interactive')} of the interactive reads were served`,
      )
    return [
      effect('shed bulk reads', sheds('bulk').length, sheds('bulk').length > 0),
      none(`failures of ${all?.requests} requests`, all?.failures ?? []),
      none(`probes other than 200 of ${probes.length}`, probes.filter((status) => status !== 200).map(String)),
      figure('writes served', percent('write'), '≥ 99 %', served('write') >= 0.99),
      figure('interactive reads served', percent('interactive'), `≥ ${100 * least} %`, served('interactive') >= least),
      figure('bulk reads served', percent('bulk'), 'fewer than interactive', served('bulk') < served('interactive')),
    ]
  },
}

const isShedSample = ({ status }: Sample) => status === 503

export const overloadPromises: readonly FaultPromise[] = [coldStart, shedOrder]
