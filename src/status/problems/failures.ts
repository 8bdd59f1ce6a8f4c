/** Requests that fail for a cause that no other problem explains, and those that are answered although no node answers. */
import { type ErrorCode, errorTable } from '../../core/errors.ts'
import type { FoundProblem, ProblemKind } from '../problem-types.ts'
import { type ProblemSources, shortened, when } from './sources.ts'

/** Problems that show the cause of an error: while one of them is present, the error is no further problem. */
const CAUSES: Readonly<Record<number, readonly ProblemKind[]>> = {
  920: ['noNode', 'nodeUnreachable', 'nodeHangs', 'nodeCutOff', 'addressBlocked', 'nodeDrained', 'mixedLayouts'],
  921: ['queueFull', 'budgetUsedUp', 'nodeHangs'],
  922: ['nodeHangs', 'nodeUnreachable', 'noNode', 'nodeCutOff'],
  923: ['nodeHangs', 'nodeUnreachable', 'noNode', 'nodeCutOff'],
  924: ['nodeUnreachable', 'noNode', 'nodeHangs', 'nodeCutOff'],
  927: ['credentialsRefused'],
  930: ['redisUnreachable', 'redisSlow'],
  936: ['auditNotWritten'],
  939: ['mixedLayouts'],
  941: ['redisUnreachable', 'redisSlow'],
  943: ['redisUnreachable', 'redisSlow'],
  944: ['redisUnreachable', 'redisSlow'],
}

const RECENT_MS = 60_000

/** An error with a cause that is not present any more ends with the cause, or with the next update of a state. */
const RECENT_WITH_CAUSE_MS = 10_000

/** Whatever the cause, an error of the edge itself is a problem: its code, its message and its remedy. */
export function failureProblems({ recentErrors }: ProblemSources, found: readonly FoundProblem[]): FoundProblem[] {
  const present = new Set(found.map(({ kind }) => kind))
  const unexplained = recentErrors().flatMap(({ code, ago }) => {
    const causes = CAUSES[code] ?? []
    const isRecent = ago <= (causes.length > 0 ? RECENT_WITH_CAUSE_MS : RECENT_MS)
    return isRecent && !causes.some((kind) => present.has(kind)) ? [code] : []
  })
  const texts = unexplained.map((code) => {
    const { message, remedy } = errorTable[code as ErrorCode]
    return `${code} ${message}: ${remedy}`
  })
  return when(unexplained.length > 0, {
    kind: 'requestsFail',
    severity: 'warning',
    summary: `Requests fail with ${unexplained.length === 1 ? 'error' : 'errors'} ${shortened(unexplained.map(String))}`,
    detail: `${texts.join('. ')}.`,
  })
}

/** Minutes at which the text about the age changes: it must not change with each second. */
const AGE_STEPS = [1, 2, 5, 10, 15, 30, 60]

export function outageProblems({ servedInOutage }: ProblemSources): FoundProblem[] {
  const oldest = servedInOutage?.()
  const minutes = (oldest ?? 0) / 60_000
  const step = AGE_STEPS.findLast((each) => each <= minutes)
  const hours = Math.floor(minutes / 60)
  const age = step === undefined ? 'a minute' : hours > 0 ? countOf(hours, 'hour') : countOf(step, 'minute')
  return when(oldest !== undefined, {
    kind: 'servedInOutage',
    severity: 'warning',
    summary: `Responses of before the outage are served, ${step === undefined ? 'less than' : 'some more than'} ${age} old`,
    detail: 'No node answers these reads (cache.outage). They are marked with Age and detail=outage. Writes fail.',
    view: 'nodes',
  })
}

function countOf(count: number, unit: string): string {
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`
}
