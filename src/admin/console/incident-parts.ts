/** What replicas saw of incidents, as texts in Redis (parts), and the incidents that follow: parts that overlap are one. */
import { type Static, Type } from 'typebox'
import { parserOf } from '../validation.ts'
import type { ProblemKind } from './api-types.ts'
import { addAffected, shortenName } from './caller-counts.ts'
import type { AffectedCaller, Incident } from './history-types.ts'

/** Problems that occur again within this time are one incident. */
export const END_PAUSE_MS = 10_000
/** Texts in one part, so that its record is not too long for the store. */
const MAX_PROBLEMS = 5
const MAX_CALLERS = 5
const MAX_SUMMARY_CHARS = 120
const MAX_NAME_CHARS = 60
/** A longer text is none of ours. */
const MAX_PART_CHARS = 8192

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
/** What one replica saw of an incident, as replicas report it to each other and store it. `run`: the process. */
export type IncidentPart = Static<typeof partSchema>
/** Returns undefined if the text is not a valid part. */
export const decodePart = parserOf(partSchema, MAX_PART_CHARS)

/** Returns a part whose texts have a limited length. `affected`: the callers; the most affected ones are named. */
export function createPart(
  { replica, problems, ...part }: Pick<IncidentPart, 'run' | 'replica' | 'since' | 'until' | 'problems'>,
  affected: readonly AffectedCaller[],
): IncidentPart {
  return {
    ...part,
    replica: replica.slice(0, MAX_NAME_CHARS),
    problems: problems.slice(0, MAX_PROBLEMS).map((problem) => ({
      ...problem,
      summary: problem.summary.slice(0, MAX_SUMMARY_CHARS),
    })),
    ...sumOf(affected),
    callers: mostAffected(affected).map((caller) => ({ ...caller, name: shortenName(caller.name, MAX_NAME_CHARS) })),
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

function sumOf(counts: readonly Pick<AffectedCaller, 'stale' | 'failed'>[]) {
  return {
    stale: counts.reduce((sum, { stale }) => sum + stale, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  }
}

/** A name may occur several times. */
function mostAffected(all: readonly AffectedCaller[]): readonly AffectedCaller[] {
  const sums = new Map<string, AffectedCaller>()
  for (const caller of all) addAffected(sums, caller)
  return [...sums.values()].sort((a, b) => b.failed + b.stale - a.failed - a.stale).slice(0, MAX_CALLERS)
}

export function keyOf({ run, since }: Pick<IncidentPart, 'run' | 'since'>): string {
  return `${run} ${since}`
}

function join(parts: readonly IncidentPart[]): Incident {
  const problems = new Map(parts.flatMap((part) => part.problems).map((problem) => [problem.kind, problem]))
  const isOver = parts.every(({ until }) => until !== undefined)
  const facts = {
    since: Math.min(...parts.map(({ since }) => since)),
    ...(isOver && { until: Math.max(...parts.map(({ until = 0 }) => until)) }),
    problems: [...problems.values()],
    ...sumOf(parts),
    callers: mostAffected(parts.flatMap((part) => part.callers)),
    replicas: [...new Set(parts.map(({ replica }) => replica))].sort(),
  }
  return { ...facts, text: describeIncident(facts), markdown: markdownOf(facts) }
}

/** An incident without its words. Times in them are UTC, so that reports of several places fit. */
type Facts = Omit<Incident, 'text' | 'markdown'>

/** Returns a sentence about the problems and one about the requests. */
function describeIncident({ since, until, problems, stale, failed, callers }: Facts): string {
  const time = until === undefined ? `Since ${timeOf(since)} UTC` : `From ${timeOf(since)} to ${timeOf(until)} UTC`
  const what = problems.map(({ summary }) => withoutCapital(summary)).join('; ')
  const [most] = callers
  const affected = most === undefined ? '' : `; most affected: ${most.name}`
  const served = `${counted(stale, 'request was', 'requests were')} served stale, ${stale + failed === 0 ? 'none' : failed} failed`
  return `${time}: ${what}. ${served}${affected}.`
}

function markdownOf(incident: Facts): string {
  const { since, until, problems, stale, failed, callers, replicas } = incident
  const end = until === undefined ? 'not over' : `${stampOf(until)} (${durationOf(until - since)})`
  const rows = [
    ['Begin', stampOf(since)],
    ['End', end],
    ['Problems', problems.map(({ summary }) => summary).join('; ')],
    ['Served stale', String(stale)],
    ['Failed (5xx)', String(failed)],
    ['Seen by', replicas.join(', ')],
  ] as const
  const lines = [
    `### Incident of ${stampOf(since)}`,
    '',
    escapeMarkdown(describeIncident(incident)),
    '',
    '| | |',
    '|---|---|',
    ...rows.map(([name, value]) => `| ${name} | ${escapeMarkdown(value)} |`),
    ...(callers.length === 0
      ? []
      : ['', '| Caller | Served stale | Failed |', '|---|---:|---:|', ...callers.map(rowOf)]),
  ]
  return `${lines.join('\n')}\n`
}

function rowOf({ name, stale, failed }: AffectedCaller): string {
  return `| ${escapeMarkdown(name)} | ${stale} | ${failed} |`
}

/** Names come from clients and nodes: they must not become links, images or cells. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').replace(/[\\`*_[\]<>|#!@]|:(?=\/\/)|(?<=\bwww)\./g, '\\$&')
}

/** A summary follows a colon. Names of nodes keep their capitals. */
function withoutCapital(summary: string): string {
  return summary.replace(/^(?:The|No|Keys)\b/, (word) => word.toLowerCase())
}

function counted(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`
}

function stampOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 19)
}

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return minutes === 0 ? `${rest} s` : `${minutes} min ${rest} s`
}
