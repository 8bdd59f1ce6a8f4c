/** Measures one row of `npm run bench:relief`: starts all processes for it, so that no row begins with what another has stored. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Fault } from '../../../packages/simulator/src/index.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { basic, nodePassword, type RunningCluster, startCluster, startReplicas } from '../clients/parties.ts'
import { quantile, sourceOf } from '../clients/taken.ts'
import { type Answer, DASHBOARD, type Party, type Place, startParty } from './clients.ts'
import type { Incident, ReliefRow } from './rows.ts'

/** The manager that was measured: 0.45 s of processor time per call, and four calls at once bring no more than two do. */
const CAPACITY = { work: 0.45, atOnce: 4, machines: 'shared' } as const
const WORKERS = 2

export interface Figures {
  readonly interactive: Summary
  readonly bulk: Summary
  readonly callsPerSecond: number
  /** Most calls in flight at one node, over all replicas, without probes (`GET /`), for which a node does no work. */
  readonly most: number
  /** The part of the capacity that dashboards leave over and bulk clients use. `NaN`: there are none. */
  readonly bulkShare: number
  /** The part of the time of interactive answers that is not that of fetches for which they waited. */
  readonly besidesFetches: number
  /** The part of answers without a fault while an incident lasted that name it in `Cache-Status`. `NaN`: no incident. */
  readonly marked: number
  /** Seconds after the last incident or burst until the median is that of before; `NaN`: there is none. */
  readonly normalAfter: number
  /** The interactive answers that had a fault, or took more than a second, with `sentAt` since the begin of the measured time. */
  readonly late: readonly Answer[]
}

export interface Summary {
  readonly perSecond: number
  readonly answered: number
  readonly withinSecond: number
  readonly median: number
  readonly p99: number
  readonly worst: number
  /** The worst of the reads that are served stale while nodes fail. */
  readonly slowestStored: number
  readonly faults: ReadonlyMap<string, number>
}

export interface MeasureOptions {
  readonly row: ReliefRow
  readonly way: 'edge' | 'direct'
  readonly seconds: number
  readonly warmUp: number
}

export async function measureRelief(options: MeasureOptions): Promise<Figures> {
  const cluster = await startCluster({ workers: WORKERS, agents: 100, capacity: CAPACITY })
  const redis = options.way === 'edge' ? await startRedis() : undefined
  const { row } = options
  const cache = row.cache ?? {}
  const replicas = redis && (await startReplicas(2, { nodes: cluster.nodes, redis: redis.url, cache }))
  try {
    const master = cluster.nodes.filter(({ type }) => type === 'master').map(({ url }) => url)
    const place: Place = {
      urls: replicas?.urls ?? master,
      throughEdge: replicas !== undefined,
      authorizationOf: (user) => (replicas === undefined ? basic('edge', nodePassword) : basic(user)),
    }
    return await measureAt(options, place, cluster, redis)
  } finally {
    redis?.resume()
    await replicas?.close()
    await redis?.close()
    cluster.close()
  }
}

async function measureAt(
  { row, seconds, warmUp }: MeasureOptions,
  place: Place,
  cluster: RunningCluster,
  redis: RedisServer | undefined,
): Promise<Figures> {
  const answers: Answer[] = []
  const start = (party: Party) => startParty(party, place, (answer) => void answers.push(answer))
  const stops = row.parties.filter(({ from }) => from === undefined).map(start)
  await wait(1000 * warmUp)
  const begun = performance.now()
  const before = await served(cluster)
  const workBefore = await workOf(cluster)
  const until = (second: number) => wait(Math.max(0, begun + 1000 * second - performance.now()))
  const bursts = row.parties.flatMap(({ from, until: end, ...party }) =>
    from === undefined || end === undefined ? [] : [{ party, from, until: end }],
  )
  await Promise.all([
    until(seconds),
    ...bursts.map(async (burst) => {
      await until(burst.from)
      const stop = start(burst.party)
      await until(burst.until)
      await stop()
    }),
    ...(row.incidents ?? []).map(async (incident) => {
      await until(incident.from)
      await strike(incident, cluster, redis)
      await until(incident.until)
      await end(incident, cluster, redis)
    }),
  ])
  const ended = performance.now()
  const after = await served(cluster)
  const workAfter = await workOf(cluster)
  const work = { all: workAfter.all - workBefore.all, interactive: workAfter.interactive - workBefore.interactive }
  await Promise.all(stops.map((stop) => stop()))
  const spent = (ended - begun) / 1000
  // Requests that the end of the run has cut off are no failures, if they did not wait for a second.
  const measured = answers.filter(
    ({ sentAt, ms }) => sentAt >= begun && sentAt < ended && (sentAt + ms <= ended || ms > 1000),
  )
  const of = (kind: Answer['kind']) =>
    summaryOf(
      measured.filter((answer) => answer.kind === kind),
      spent,
    )
  const moments = [...bursts, ...(row.incidents ?? [])]
  return {
    interactive: of('dashboard'),
    bulk: of('bulk'),
    callsPerSecond: (after - before) / spent,
    most: Math.max(...Object.values(await cluster.report()).map(({ mostInterpreted }) => mostInterpreted)),
    bulkShare: row.parties.some(({ kind }) => kind === 'bulk') ? bulkShare(work, spent) : Number.NaN,
    besidesFetches: besidesFetches(measured),
    marked: markedPart(measured, row, begun),
    late: measured
      .filter(({ kind, fault, ms }) => kind === 'dashboard' && (fault !== '' || ms > 1000))
      .map((answer) => ({ ...answer, sentAt: answer.sentAt - begun })),
    normalAfter: moments.length === 0 ? Number.NaN : secondsUntilNormal(measured, moments, begun),
  }
}

async function served(cluster: RunningCluster): Promise<number> {
  return Object.values(await cluster.report()).reduce((sum, load) => sum + load.served, 0)
}

/** The calls for which an interpreter worked, and those of dashboards among them. */
interface Work {
  readonly all: number
  readonly interactive: number
}

const DASHBOARD_PATHS = new Set(DASHBOARD.map((target) => target.split('?', 1)[0]))

async function workOf(cluster: RunningCluster): Promise<Work> {
  const loads = Object.values(await cluster.report())
  const calls = [...(await cluster.calls())].filter(([path]) => DASHBOARD_PATHS.has(path))
  return {
    all: loads.reduce((sum, { interpreted, forwarded }) => sum + interpreted + forwarded, 0),
    interactive: calls.reduce((sum, [, count]) => sum + count, 0),
  }
}

/** Seconds of work that two to four interpreters do in a second, as the simulator has it. */
const WORK_PER_SECOND = 1.6

function bulkShare({ all, interactive }: Work, spent: number): number {
  return (all - interactive) / ((spent * WORK_PER_SECOND) / CAPACITY.work - interactive)
}

function besidesFetches(answers: readonly Answer[]): number {
  const timeOf = (some: readonly Answer[]) => some.reduce((sum, { ms }) => sum + ms, 0)
  const interactive = answers.filter(({ kind }) => kind === 'dashboard')
  const waited = interactive.filter(({ cacheStatus }) => ['miss', 'collapsed'].includes(sourceOf(cacheStatus)))
  return 1 - timeOf(waited) / timeOf(interactive)
}

const FAULTS: Readonly<Record<Exclude<Incident['what'], 'Redis stalls'>, Fault>> = {
  'nodes refuse': { apiDown: true },
  'nodes hang': { stall: true },
}

async function strike({ what }: Incident, cluster: RunningCluster, redis: RedisServer | undefined): Promise<void> {
  if (what === 'Redis stalls') redis?.pause()
  else await cluster.strike(FAULTS[what])
}

async function end({ what }: Incident, cluster: RunningCluster, redis: RedisServer | undefined): Promise<void> {
  if (what === 'Redis stalls') redis?.resume()
  else await cluster.strike({})
}

/** The status of nodes is not served stale (decision 13), so these wait for a node or fail. */
const NEVER_STALE = new Set(['/cluster/status', '/manager/status', '/cluster/nodes'])

function summaryOf(answers: readonly Answer[], spent: number): Summary {
  const right = answers.filter(({ fault }) => fault === '')
  const sorted = Float64Array.from(answers, ({ ms }) => ms).sort()
  const faults = new Map<string, number>()
  for (const { fault, target } of answers) {
    const what = `${fault} ${target.split('?', 1)[0]}`
    if (fault !== '') faults.set(what, (faults.get(what) ?? 0) + 1)
  }
  return {
    perSecond: right.length / spent,
    answered: right.length / answers.length,
    withinSecond: right.filter(({ ms }) => ms <= 1000).length / answers.length,
    median: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    worst: sorted.at(-1) ?? Number.NaN,
    slowestStored: Math.max(...answers.flatMap(({ target, ms }) => (NEVER_STALE.has(target) ? [] : [ms]))),
    faults,
  }
}

/**
 * Answers that are still fresh need no mark: the part is that of the others. A replica learns from the first refresh of a read
 * that no node answers. What it has served before, while that refresh was under way, is not counted.
 */
function markedPart(answers: readonly Answer[], { marked, incidents = [] }: ReliefRow, begun: number): number {
  const [incident] = incidents
  if (marked === undefined || incident === undefined) return Number.NaN
  const [from, until] = [begun + 1000 * incident.from, begun + 1000 * incident.until]
  const inside = answers.filter(({ sentAt, ms, fault }) => fault === '' && sentAt > from && sentAt + ms < until)
  const old = inside.filter(({ cacheStatus }) => !/; ttl=\d/.test(cacheStatus))
  const isMarked = ({ cacheStatus }: Answer) => marked.some((mark) => cacheStatus.includes(mark))
  const marks = old.filter(isMarked)
  const readOf = ({ place, target }: Answer) => `${place} ${target}`
  const knownAt = new Map<string, number>()
  for (const answer of marks) {
    const at = answer.sentAt + answer.ms
    knownAt.set(readOf(answer), Math.min(at, knownAt.get(readOf(answer)) ?? at))
  }
  const isRefreshed = (answer: Answer) =>
    answer.cacheStatus.includes('detail=stale-while-revalidate') &&
    answer.sentAt < (knownAt.get(readOf(answer)) ?? Number.NEGATIVE_INFINITY)
  return marks.length / old.filter((answer) => !isRefreshed(answer)).length
}

/** A second is normal if the median of its answers is at most twice that of before, or 5 ms. */
const NORMAL_MS = 5

function secondsUntilNormal(
  answers: readonly Answer[],
  moments: readonly { readonly from: number; readonly until: number }[],
  begun: number,
): number {
  const first = begun + 1000 * Math.min(...moments.map(({ from }) => from))
  const last = begun + 1000 * Math.max(...moments.map(({ until }) => until))
  const interactive = answers.filter(({ kind }) => kind === 'dashboard')
  const before = summaryOf(
    interactive.filter(({ sentAt }) => sentAt < first),
    1,
  ).median
  for (let second = 0; second < 60; second += 1) {
    const [from, until] = [last + 1000 * second, last + 1000 * (second + 1)]
    const within = interactive.filter(({ sentAt }) => sentAt >= from && sentAt < until)
    const { median, answered } = summaryOf(within, 1)
    if (within.length > 0 && answered === 1 && median <= Math.max(NORMAL_MS, 2 * before)) return second
  }
  return Number.POSITIVE_INFINITY
}
