/**
 * Which lifetimes would save calls, and what other settings would change: the reads that this replica recorded, replayed with
 * other settings. Both sides of each comparison come from the same model. The observed counts are those of all replicas.
 */
import { Type } from 'typebox'
import type { Replay, ReplayCounts, Replayed, ReplaySettings } from '../../core/cache.ts'
import type { SettingChange } from '../../core/settings.ts'
import { inTurns } from '../../core/turns.ts'
import { validatorOf } from '../validation.ts'
import { bestOf, MIN_FETCHES, MIN_SAVED, textOfLifetime, textsOfWhatIf } from './advice-texts.ts'
import type { Advice, Candidate, LifetimeAdvice, WhatIf } from './advice-types.ts'
import type { BusySecond, CallerCounts } from './caller-counts.ts'
import { estimateDiffering } from './divergence-estimate.ts'
import type { Divergence, ObservedReads, ReadRecorder, RecordedMinutes } from './read-recorder.ts'

/** The settings that can be tried, with their values now, and how they are written. */
export interface AdviceSettings {
  readonly ttlOf: ReplaySettings['ttlOf']
  readonly localBytes: number
  readonly requestsPerSecond: number
  /** Returns the setting of the lifetime of an endpoint, such as `cache.ttl.agents`. */
  settingOf(group: string, route: string): string
}

/** Settings of a query, parsed. `ttls`: by setting, in milliseconds. */
export interface TriedSettings {
  readonly ttls: ReadonlyMap<string, number>
  readonly localBytes?: number
  readonly requestsPerSecond?: number
  readonly changes: readonly SettingChange[]
}

export interface AdviceOptions {
  readonly requests: { drain(): void }
  readonly recorder: Pick<ReadRecorder, 'read' | 'observed' | 'divergence'>
  readonly callers: Pick<CallerCounts, 'busySeconds' | 'busiestSeconds'>
  readonly settings: () => AdviceSettings
  readonly replay: Replay
  /** Parses settings such as `cache.ttl.agents=15s`. Throws an EdgeError. */
  readonly parse: (settings: readonly string[]) => TriedSettings
  /** Returns the change of a lifetime as it is written in the configuration. `ttl`: milliseconds. */
  readonly changeOf: (setting: string, ttl: number) => SettingChange
  /** Returns YAML for the configuration. */
  readonly format: (changes: readonly SettingChange[]) => string
}

export interface ConsoleAdvice {
  /** Returns what other replicas need. */
  report(): AdviceReport
  /** Takes what the others reported. Undefined: Redis is unreachable. Reports that are not valid are skipped. */
  offer(reports: readonly unknown[] | undefined): void
  /** `tried`: settings such as `cache.ttl.agents=15s`. `maxDiffering`: part of the reads, 0 to 1. Rejects with an EdgeError. */
  read(tried: readonly string[], maxDiffering: number): Promise<Advice>
}

const COUNTS = ['reads', 'hits', 'fetches', 'compared', 'different', 'ages'] as const
type RouteCounts = Omit<ObservedReads, 'elsewhere'> & Omit<Divergence, 'route'>
interface AdviceReport {
  readonly routes: readonly ({ readonly route: string } & RouteCounts)[]
  readonly busy: readonly BusySecond[]
}

/** Lifetimes that are tried: multiples of the present one, and milliseconds. */
const FACTORS = [2, 3]
const LIFETIMES_MS = [5000, 10_000, 15_000, 30_000, 60_000]
const MAX_LIFETIME_MS = 60_000
/** A longer report is left out (`replicas.ts`). */
const MAX_REPORTED_ROUTES = 15

export function createAdvice(options: AdviceOptions): ConsoleAdvice {
  const { requests, recorder } = options
  let others: readonly AdviceReport[] = []
  let last: Promise<unknown> = Promise.resolve()
  /** One after another: a replay has megabytes of state. */
  const afterLast = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  const countsOf = (observed: RecordedMinutes['observed']): AdviceReport['routes'] => {
    const divergence = new Map(recorder.divergence().map((counts) => [counts.route, counts]))
    return [...observed]
      .map(([route, { elsewhere: _, ...counts }]) => ({
        route,
        ...counts,
        ...(divergence.get(route) ?? { compared: 0, different: 0, ages: 0 }),
      }))
      .sort((a, b) => b.fetches - a.fetches)
  }

  const advise = async (trial: TriedSettings | undefined, maxDiffering: number): Promise<Advice> => {
    requests.drain()
    const recorded = recorder.read()
    const counts = sumOfReports([countsOf(recorded.observed), ...others.map(({ routes }) => routes)])
    const model = await createModel(options, recorded)
    const lifetimes = await adviseLifetimes(model, counts, maxDiffering)
    const recommended = lifetimes.flatMap(({ setting, candidates }) => {
      const best = bestOf(candidates)
      return best === undefined ? [] : [options.changeOf(setting, best.ttl)]
    })
    const whatIf =
      trial &&
      (await tryOut(model, {
        trial,
        counts,
        busy: [...options.callers.busySeconds(), ...others.flatMap(({ busy }) => busy)],
      }))
    return {
      time: recorded.time,
      replicas: 1 + others.length,
      share: recorded.share,
      lifetimes,
      settings: options.format(recommended),
      ...(whatIf && { whatIf: { ...whatIf, settings: options.format(whatIf.changes) } }),
    }
  }

  return {
    report: () => ({
      routes: countsOf(recorder.observed()).slice(0, MAX_REPORTED_ROUTES),
      busy: options.callers.busiestSeconds(),
    }),
    offer: (reports = []) => {
      others = reports.filter(isReport)
    },
    read: async (tried, maxDiffering) => {
      const trial = tried.length === 0 ? undefined : options.parse(tried)
      return afterLast(() => advise(trial, maxDiffering))
    },
  }
}

/** Replays the recorded reads, with the present settings at first. */
interface Model {
  readonly recorded: RecordedMinutes
  readonly settings: AdviceSettings
  readonly now: Replayed
  replay(changed: Partial<ReplaySettings>): Promise<Replayed>
}

async function createModel(
  { settings: current, replay: run }: AdviceOptions,
  recorded: RecordedMinutes,
): Promise<Model> {
  const settings = current()
  const { share, reads } = recorded
  const replay = ({ ttlOf = settings.ttlOf, localBytes = settings.localBytes }: Partial<ReplaySettings>) =>
    // The recorded part of the responses needs that part of the room.
    run(reads, { ttlOf, localBytes: localBytes * share })
  return { recorded, settings, now: await replay({}), replay }
}

type Counts = ReadonlyMap<string, RouteCounts>

async function adviseLifetimes(model: Model, counts: Counts, maxDiffering: number): Promise<LifetimeAdvice[]> {
  const { settings } = model
  const bySetting = new Map<string, (readonly [string, RouteCounts])[]>()
  for (const row of counts) {
    const setting = settings.settingOf(row[1].group, row[0])
    bySetting.set(setting, [...(bySetting.get(setting) ?? []), row])
  }
  const units = [...bySetting].map(([setting, rows]) => unitOf(model, setting, rows))
  const found = new Map<string, Candidate[]>()
  // The lifetimes of different endpoints do not depend on each other, so one replay tries one for each setting.
  for (const choose of choices) {
    const chosen = new Map(units.map(({ setting, ttl }) => [setting, choose(ttl)]))
    const ttlOf = (group: string, route: string) => {
      const ttl = settings.ttlOf(group, route)
      return ttl <= 0 ? ttl : (chosen.get(settings.settingOf(group, route)) ?? ttl)
    }
    const replayed = await model.replay({ ttlOf })
    for (const unit of units) {
      const ttl = chosen.get(unit.setting) ?? 0
      const candidates = found.get(unit.setting) ?? []
      if (ttl <= unit.ttl || ttl > MAX_LIFETIME_MS || candidates.some((each) => each.ttl === ttl)) continue
      found.set(unit.setting, [...candidates, candidateOf(model, unit, { ttl, replayed, maxDiffering })])
    }
  }
  return units
    .map((unit) => {
      const candidates = (found.get(unit.setting) ?? []).sort((a, b) => a.ttl - b.ttl)
      return { ...unit, candidates, text: textOfLifetime({ ...unit, candidates }, maxDiffering) }
    })
    .sort((a, b) => b.fetches - a.fetches)
}

const choices: readonly ((ttl: number) => number)[] = [
  ...FACTORS.map((factor) => (ttl: number) => factor * ttl),
  ...LIFETIMES_MS.map((ms) => () => ms),
]

type Unit = Omit<LifetimeAdvice, 'candidates' | 'text'>

/** Returns the endpoints of one setting, with what was observed of them. */
function unitOf(
  { recorded, settings, now }: Model,
  setting: string,
  rows: readonly (readonly [string, RouteCounts])[],
): Unit {
  const endpoints = rows
    .map(([endpoint, { reads, hits, fetches }]) => ({ endpoint, reads, hits, fetches }))
    .sort((a, b) => b.fetches - a.fetches)
  const sum = (name: (typeof COUNTS)[number]) => rows.reduce((all, [, counts]) => all + counts[name], 0)
  const routes = rows.map(([route]) => route)
  const [first] = rows
  const compared = sum('compared')
  const modelled = sumOf(now, routes)
  const own = routes.flatMap((route) => recorded.observed.get(route) ?? [])
  const observed = (name: 'hits' | 'fetches' | 'elsewhere') => own.reduce((all, counts) => all + counts[name], 0)
  const { share } = recorded
  return {
    setting,
    ttl: first === undefined ? 0 : settings.ttlOf(first[1].group, first[0]),
    reads: sum('reads'),
    hits: sum('hits'),
    fetches: sum('fetches'),
    endpoints,
    model: {
      fetches: Math.round(modelled.fetches / share),
      observedFetches: Math.round(observed('fetches') + observed('elsewhere') / share),
      hits: Math.round(modelled.hits / share),
      observedHits: observed('hits'),
    },
    comparisons: { compared, different: sum('different'), age: compared === 0 ? 0 : sum('ages') / compared },
  }
}

function candidateOf(
  { now }: Model,
  unit: Unit,
  { ttl, replayed, maxDiffering }: { readonly ttl: number; readonly replayed: Replayed; readonly maxDiffering: number },
): Candidate {
  const routes = unit.endpoints.map(({ endpoint }) => endpoint)
  const then = sumOf(replayed, routes)
  const saved = savedBy(sumOf(now, routes), then)
  const differing = estimateDiffering(unit.comparisons, then)
  const isEnough = unit.fetches >= MIN_FETCHES && saved >= MIN_SAVED
  return {
    ttl,
    fetches: Math.round(unit.fetches * (1 - saved)),
    saved,
    ...(differing && { differing }),
    isRecommended: isEnough && differing !== undefined && differing.atMost <= maxDiffering,
  }
}

function savedBy(now: ReplayCounts, then: ReplayCounts): number {
  return now.fetches === 0 ? 0 : 1 - then.fetches / now.fetches
}

function sumOf({ routes }: Replayed, names: Iterable<string>): ReplayCounts {
  const sum = { reads: 0, hits: 0, fetches: 0, ages: 0 }
  for (const name of names) {
    const counts = routes.get(name)
    for (const field of ['reads', 'hits', 'fetches', 'ages'] as const) sum[field] += counts?.[field] ?? 0
  }
  return sum
}

interface Tried {
  readonly trial: TriedSettings
  readonly counts: Counts
  readonly busy: readonly BusySecond[]
}

async function tryOut(model: Model, { trial, counts, busy }: Tried): Promise<Omit<WhatIf, 'settings'>> {
  const { settings, recorded, now } = model
  const { ttls, changes, localBytes = settings.localBytes, requestsPerSecond = settings.requestsPerSecond } = trial
  const ttlOf = (group: string, route: string) =>
    ttls.get(`cache.endpoints.${route}`) ?? ttls.get(settings.settingOf(group, route)) ?? settings.ttlOf(group, route)
  const then = await model.replay({ ttlOf, localBytes })
  const all = [...counts.values()].reduce((sum, { fetches }) => sum + fetches, 0)
  const saved = savedBy(sumOf(now, now.routes.keys()), sumOf(then, then.routes.keys()))
  const changed = [...counts].filter(([route, { group }]) => ttlOf(group, route) !== settings.ttlOf(group, route))
  const unit = unitOf(model, '', changed)
  const scaled = (pick: (replayed: Replayed) => number) => ({
    now: Math.round(pick(now) / recorded.share),
    tried: Math.round(pick(then) / recorded.share),
  })
  const [limitedNow = 0, limitedThen = 0] = await countLimited(busy, [settings.requestsPerSecond, requestsPerSecond])
  const tried = {
    changes,
    fetches: { now: all, tried: Math.round(all * (1 - saved)) },
    hits: scaled((replayed) => sumOf(replayed, replayed.routes.keys()).hits),
    localHits: scaled(({ localHits }) => localHits),
    evictions: scaled(({ evictions }) => evictions),
    limited: { now: limitedNow, tried: limitedThen },
  }
  const requests = busy.reduce((sum, [, , count]) => sum + count, 0)
  const { comparisons } = unit
  const lifetimes = candidateOf(model, unit, { ttl: 0, replayed: then, maxDiffering: 0 })
  return { ...tried, texts: textsOfWhatIf(tried, { requests, lifetimes, comparisons }) }
}

/** Returns how many of the requests are over each of the limits. Replicas count a caller together, so their seconds are added. */
async function countLimited(busy: readonly BusySecond[], limits: readonly number[]): Promise<readonly number[]> {
  const sums = new Map<string, number>()
  for await (const part of inTurns(busy))
    for (const [caller, second, count] of part) {
      const key = `${second} ${caller}`
      sums.set(key, count + (sums.get(key) ?? 0))
    }
  return limits.map((limit) => [...sums.values()].reduce((all, count) => all + Math.max(0, count - limit), 0))
}

function sumOfReports(reports: readonly AdviceReport['routes'][]): Counts {
  const sums = new Map<string, RouteCounts>()
  for (const { route, ...counts } of reports.flat()) {
    const sum = sums.get(route)
    if (sum === undefined) sums.set(route, counts)
    else for (const name of COUNTS) sum[name] += counts[name]
  }
  return sums
}

const count = Type.Number({ minimum: 0 })
const name = (maxLength: number) => Type.String({ maxLength })
/** Other programs may write to this Redis, so a report is validated before it is used. */
const isReport = validatorOf(
  Type.Object({
    routes: Type.Array(
      Type.Object({
        ...{ route: name(300), group: name(40), reads: count, hits: count, fetches: count },
        ...{ compared: count, different: count, ages: count },
      }),
      { maxItems: 100 },
    ),
    busy: Type.Array(Type.Tuple([name(100), count, count]), { maxItems: 200 }),
  }),
)
