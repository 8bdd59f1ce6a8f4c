/** R11 and R16: more load than the nodes have capacity for. */

import { affordableRate, sendAll, throughputOf } from '../calls.ts'
import { headers } from '../edge-process.ts'
import { type Call, type Phase, phaseOf, type Sample, startSteadyLoad } from '../load.ts'
import { effect, type FaultPromise, figure, NotRun, none } from '../promise.ts'
import { IN_FLIGHT, MOST_CALLS, NODE_MS, QUEUE, REPLICAS, startSmall, verifyOrShed } from '../small-edges.ts'

/** Multiple of the capacity of the nodes that R11 sends. */
const OVERLOAD = 2

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const answered = (samples: readonly Sample[]) => samples.filter(({ status }) => status === 200)

const distinctMisses: FaultPromise = {
  id: 'R11',
  title: '10,000 distinct misses: never more calls than the limit, the rest is shed at once or queued briefly',
  planted: 'the concurrency limit is ten times as high',
  async run(context) {
    const limits = { inFlight: context.planted ? 10 * IN_FLIGHT : IN_FLIGHT, queue: QUEUE }
    const { upstream, replicas } = await startSmall(context, limits)
    const requests = context.count(10_000, 400)
    let at = 0
    const draw = (): Call => {
      at += 1
      return { origin: replicas[at % 2]?.url ?? '', path: `/agents/${1000 + at}`, headers, verify: verifyOrShed }
    }
    const path = '/agents/001'
    const meter = context.meter(upstream, ...replicas)
    const warm = phaseOf(await sendAll(Array.from({ length: 200 }, draw), 2, meter))
    context.requireCalm(warm.p99)
    const flooding = (OVERLOAD * 1000 * MOST_CALLS) / NODE_MS
    const stored = Array.from({ length: 500 }, (_, i): Call => ({ origin: replicas[i % 2]?.url ?? '', path, headers }))
    if (context.allowance === 0 && (await throughputOf(stored, MOST_CALLS)) < flooding) {
      throw new NotRun(`this machine is too busy for ${flooding} requests per second`)
    }
    const direct = Array.from({ length: 100 }, (_, at) => ({ origin: upstream.url, path: `/agents/${5000 + at}` }))
    const capacity = await throughputOf(direct, MOST_CALLS, meter)
    await upstream.report()
    const load = startSteadyLoad({ rate: OVERLOAD * capacity, draw, meter })
    load.phase('flood')
    const begin = performance.now()
    while (load.current().requests < requests) await wait(20)
    const { flood } = await load.stop()
    const end = performance.now()
    const seconds = (end - begin - meter.within(begin, end)) / 1000
    const { maxConcurrent } = await upstream.report()
    const samples = flood?.samples ?? []
    const sheds = phaseOf(samples.filter(({ status }) => status === 503))
    const served = phaseOf(answered(samples))
    const goodput = served.requests / seconds
    // The longest time in the queue: all calls before it, at the capacity of its share of the node.
    const queued = (1000 * QUEUE) / (capacity / REPLICAS)
    const share = context.allowance > 0 ? 0.1 : 0.9
    return [
      effect('shed requests', sheds.requests, sheds.requests > 0),
      none(`failures of ${samples.length} requests`, flood?.failures ?? []),
      figure('upstream concurrency', maxConcurrent, `≤ ${MOST_CALLS}`, maxConcurrent <= MOST_CALLS),
      context.within('median of shed requests', sheds.p50, 100),
      context.within('p99 of served requests', served.p99, Math.max(1000, 2 * queued)),
      figure(
        'goodput of the capacity',
        `${((100 * goodput) / capacity).toFixed(0)} %`,
        `≥ ${100 * share} %`,
        goodput >= share * capacity,
      ),
    ]
  },
}

const retryStorm: FaultPromise = {
  id: 'R16',
  title: 'All nodes answer 503: no retry storm, and normal soon after it',
  planted: 'the nodes stay healthy',
  async run(context) {
    const { upstream, replicas } = await startSmall(context, { inFlight: 64 }, { enabled: false })
    const draw = (): Call => ({ origin: context.random.of(replicas).url, path: '/agents/001', headers })
    const rate = await affordableRate(context.rate, draw)
    const load = startSteadyLoad({ rate, draw })
    const time = context.duration(30_000, 3000)
    load.phase('warming')
    await wait(2000)
    await upstream.report()
    load.phase('before')
    await wait(time)
    const base = (await upstream.report()).calls
    load.phase('during')
    const injectedAt = performance.now()
    await context.inject(() => upstream.behave({ delay: 0, steady: NODE_MS, heedsBypass: true, status: 503 }))
    await wait(time)
    const during = (await upstream.report()).calls
    upstream.behave({ delay: 0, steady: NODE_MS, heedsBypass: true })
    load.phase('after')
    const begin = performance.now()
    while (performance.now() - begin < 20_000) {
      load.phase(`after ${performance.now()}`)
      await wait(500)
      const { requests, failures } = load.current()
      if (requests > 0 && failures.length === 0) break
    }
    const recovery = performance.now() - begin
    const phases = await load.stop()
    const failed = phases.during?.failures.length ?? 0
    const share = (calls: number, phase: Phase | undefined) => calls / Math.max(1, phase?.requests ?? 0)
    const [baseShare, duringShare] = [share(base, phases.before), share(during, phases.during)]
    const earlier = (phases.before?.samples ?? []).filter(({ begin, ms }) => begin + ms < injectedAt)
    return [
      effect('failed requests during it', failed, failed > 0),
      none('failures before it', phaseOf(earlier).failures),
      figure(
        `calls per request during it, at ${rate.toFixed(0)} requests per second`,
        duringShare.toFixed(3),
        `≤ 1.1 × ${baseShare.toFixed(3)}`,
        duringShare <= 1.1 * baseShare,
      ),
      context.within('normal after', recovery, 10_000),
    ]
  },
}

export const capacityPromises: readonly FaultPromise[] = [distinctMisses, retryStorm]
