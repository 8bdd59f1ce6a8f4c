/** What the replicas saw, as incidents: parts that overlap are one incident. And the form of parts as texts in Redis. */
import { Type } from 'typebox'
import { parserOf } from '../validation.ts'
import type { ProblemKind } from './api-types.ts'
import { addAffected, shortenName } from './caller-counts.ts'
import { describeIncident, markdownOf } from './incident-text.ts'
import type { AffectedCaller, Incident, IncidentPart } from './incident-types.ts'

/** Problems that occur again within this time are one incident. */
export const END_PAUSE_MS = 10_000
/** Texts in one part, so that its record is not too long for the store. */
const MAX_PROBLEMS = 5
const MAX_CALLERS = 5
const MAX_SUMMARY_CHARS = 120
const MAX_NAME_CHARS = 60
/** A longer text is none of ours. */
const MAX_PART_CHARS = 8192
/** Parts in the report of one replica. */
export const MAX_REPORTED_PARTS = 2

export const timeSchema = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const name = Type.String({ maxLength: MAX_NAME_CHARS })
const counts = { stale: timeSchema, failed: timeSchema }
/** Other programs may write to this Redis, so a part is validated before it is used. */
export const partSchema = Type.Object({
  run: Type.String({ maxLength: 40 }),
  replica: name,
  since: timeSchema,
  until: Type.Optional(timeSchema),
  problems: Type.Array(
    Type.Object({
      // Another version may know further kinds.
      kind: Type.Unsafe<ProblemKind>(Type.String({ maxLength: 40 })),
      summary: Type.String({ maxLength: MAX_SUMMARY_CHARS }),
      view: Type.Optional(Type.Enum(['cache', 'nodes'])),
    }),
    { maxItems: MAX_PROBLEMS },
  ),
  ...counts,
  callers: Type.Array(Type.Object({ name, ...counts }), { maxItems: 10 }),
})
/** Returns undefined if the text is not a valid part. */
export const decodePart = parserOf(partSchema, MAX_PART_CHARS)

/** Parts in memory, and how long a part that is over is reported. */
const MAX_PARTS = 200
const REPORTED_MS = 60_000
/** A part that its replica does not report any more has ended. */
const LOST_AFTER_MS = 30_000

/** The newest parts of this replica and of the others. */
export class KnownParts {
  readonly #parts = new Map<string, { readonly part: IncidentPart; readonly seenAt: number }>()

  add(part: IncidentPart, at: number): void {
    const key = keyOf(part)
    this.#parts.delete(key)
    this.#parts.set(key, { part, seenAt: at })
    const [oldest] = this.#parts.keys()
    if (this.#parts.size > MAX_PARTS && oldest !== undefined) this.#parts.delete(oldest)
  }

  find(key: Parameters<typeof keyOf>[0]): IncidentPart | undefined {
    return this.#parts.get(keyOf(key))?.part
  }

  /** Returns all parts. */
  read(at: number): IncidentPart[] {
    return [...this.#parts.values()].map(({ part, seenAt }) =>
      part.until === undefined && at - seenAt > LOST_AFTER_MS ? { ...part, until: seenAt } : part,
    )
  }

  /** Returns the parts of this process that the other replicas need. */
  toReport(run: string, at: number): IncidentPart[] {
    const own = [...this.#parts.values()].map(({ part }) => part).filter((part) => part.run === run)
    return own.filter(({ until = Number.POSITIVE_INFINITY }) => until > at - REPORTED_MS).slice(-MAX_REPORTED_PARTS)
  }
}

/** Returns the part with texts of limited length. */
export function boundedPart(part: IncidentPart): IncidentPart {
  return {
    ...part,
    replica: part.replica.slice(0, MAX_NAME_CHARS),
    problems: part.problems.slice(0, MAX_PROBLEMS).map((problem) => ({
      ...problem,
      summary: problem.summary.slice(0, MAX_SUMMARY_CHARS),
    })),
    callers: part.callers.map((caller) => ({ ...caller, name: shortenName(caller.name, MAX_NAME_CHARS) })),
  }
}

/** Returns the incidents, newest first. Of a part that occurs several times, the last one counts. */
export function incidentsOf(parts: Iterable<IncidentPart>): Incident[] {
  const latest = new Map<string, IncidentPart>()
  for (const part of parts) latest.set(keyOf(part), part)
  const groups: IncidentPart[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const part of [...latest.values()].sort((a, b) => a.since - b.since)) {
    const isNext = part.since > end + END_PAUSE_MS
    if (isNext) groups.push([part])
    else groups.at(-1)?.push(part)
    const until = part.until ?? Number.POSITIVE_INFINITY
    end = isNext ? until : Math.max(end, until)
  }
  return groups.map(join).reverse()
}

/** Returns the sums of all callers, and the most affected ones. A name may occur several times. */
export function countsOf(all: readonly AffectedCaller[]): Pick<Incident, 'stale' | 'failed' | 'callers'> {
  const sums = new Map<string, AffectedCaller>()
  for (const caller of all) addAffected(sums, caller)
  const callers = [...sums.values()]
  return {
    stale: callers.reduce((sum, { stale }) => sum + stale, 0),
    failed: callers.reduce((sum, { failed }) => sum + failed, 0),
    callers: callers.sort((a, b) => b.failed + b.stale - a.failed - a.stale).slice(0, MAX_CALLERS),
  }
}

function keyOf({ run, since }: Pick<IncidentPart, 'run' | 'since'>): string {
  return `${run} ${since}`
}

function join(parts: readonly IncidentPart[]): Incident {
  const problems = new Map(parts.flatMap((part) => part.problems).map((problem) => [problem.kind, problem]))
  const { callers } = countsOf(parts.flatMap((part) => part.callers))
  const isOver = parts.every(({ until }) => until !== undefined)
  const facts = {
    since: Math.min(...parts.map(({ since }) => since)),
    ...(isOver && { until: Math.max(...parts.map(({ until = 0 }) => until)) }),
    problems: [...problems.values()],
    stale: parts.reduce((sum, { stale }) => sum + stale, 0),
    failed: parts.reduce((sum, { failed }) => sum + failed, 0),
    callers,
    replicas: [...new Set(parts.map(({ replica }) => replica))].sort(),
  }
  return { ...facts, text: describeIncident(facts), markdown: markdownOf(facts) }
}
