/**
 * The problems of the edge, derived from its state. Everything that shows problems (banner, page title, API,
 * `/readyz?verbose`, `edge_degraded`) reads this list. The texts contain no durations that change with each second: a
 * screen reader would read them again and again.
 */

import {
  type FoundProblem,
  PROBLEM_KINDS,
  type Problem,
  type ProblemKind,
  type ProblemSeverity,
} from './problem-types.ts'
import { cacheProblems, capacityProblems, redisProblems } from './problems/cache.ts'
import { failureProblems, outageProblems } from './problems/failures.ts'
import {
  budgetProblems,
  credentialProblems,
  drainProblems,
  layoutProblems,
  nodeProblems,
  queueProblems,
  withReports,
} from './problems/nodes.ts'
import {
  auditProblems,
  certificateProblems,
  configurationProblems,
  openFileProblems,
  readinessProblems,
  replicaProblems,
  tokenProblems,
} from './problems/replica.ts'
import type { ProblemSources } from './problems/sources.ts'
import type { Degradation } from './readiness.ts'

const ORDER: Readonly<Record<ProblemSeverity, number>> = { error: 0, warning: 1, notice: 2 }

/** Returns the problems, the most severe first. `now`: milliseconds since 1970. */
export function problemsOf(sources: ProblemSources, now: number = Date.now()): FoundProblem[] {
  const nodes = withReports(sources.nodes(), sources.replicas?.() ?? [])
  const found = [
    ...readinessProblems(sources),
    ...credentialProblems(sources, nodes),
    ...nodeProblems(nodes),
    ...outageProblems(sources),
    ...queueProblems(sources, nodes),
    ...budgetProblems(nodes),
    ...openFileProblems(sources),
    ...tokenProblems(sources),
    ...auditProblems(sources),
    ...redisProblems(sources),
    ...capacityProblems(sources),
    ...certificateProblems(sources, now),
    ...configurationProblems(sources),
    ...layoutProblems(sources),
    ...replicaProblems(sources),
    ...drainProblems(nodes),
    ...cacheProblems(sources),
  ]
  return [...found, ...failureProblems(sources, found)].sort((a, b) => ORDER[a.severity] - ORDER[b.severity])
}

/** A replica that is not ready is no degradation: `edge_ready` and the status of `/readyz` show it. */
export const DEGRADATION_REASONS: readonly ProblemKind[] = PROBLEM_KINDS.filter((kind) => kind !== 'notReady')

/** Returns the problems as `/readyz?verbose` shows them. */
export function degradationsOf(problems: readonly Problem[]): Degradation[] {
  return problems
    .filter(({ kind }) => DEGRADATION_REASONS.includes(kind))
    .map(({ kind, openDetail, summary, since }) => ({ reason: kind, detail: openDetail ?? summary, since }))
}
