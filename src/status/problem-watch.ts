/** Since when each problem exists. */
import type { FoundProblem, Problem, ProblemKind } from './problem-types.ts'

/** A problem begins at most this long after its cause, also if no client asks for the problems. */
const UPDATE_INTERVAL_MS = 1000
/** A problem that returns within this time has not ended: a node that fails every second call is one problem. */
const MAX_PAUSE_MS = 10_000

/** `now`: milliseconds since 1970. */
export function watchProblems(find: () => readonly FoundProblem[], now: () => number = Date.now) {
  const begun = new Map<ProblemKind, { readonly since: string; seenAt: number }>()
  let updatedAt = now()
  const current = (): readonly Problem[] => {
    const at = now()
    const problems = find().map((problem) => {
      const known = begun.get(problem.kind)
      const lasts = known !== undefined && (known.seenAt === updatedAt || at - known.seenAt <= MAX_PAUSE_MS)
      const begin = lasts ? known : { since: new Date(at).toISOString(), seenAt: at }
      begin.seenAt = at
      begun.set(problem.kind, begin)
      return { ...problem, since: begin.since }
    })
    updatedAt = at
    return problems
  }
  const timer = setInterval(current, UPDATE_INTERVAL_MS).unref()
  return { current, stop: () => clearInterval(timer) }
}
