/** Since when each problem exists, and what requests of this replica have met meanwhile: differences of its totals. */
import type { FoundProblem, Meanwhile, Problem, ProblemKind, Totals } from './problem-types.ts'

interface ProblemWatch {
  current(): readonly Problem[]
  stop(): void
}

interface WatchedSources {
  readonly find: () => readonly FoundProblem[]
  /** Returns the counts of this replica since its start. */
  readonly totals: () => Pick<Totals, 'stale' | 'queued' | 'failures'>
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** A problem begins at most this long after its cause, also if no client asks for the problems. */
const UPDATE_INTERVAL_MS = 1000
/** A problem that returns within this time has not ended: a node that fails every second call is one problem. */
const MAX_PAUSE_MS = 10_000

export function watchProblems({ find, totals, now = Date.now }: WatchedSources): ProblemWatch {
  const begun = new Map<ProblemKind, { readonly since: string; readonly start: Meanwhile; seenAt: number }>()
  const count = (): Meanwhile => {
    const { stale, queued, failures } = totals()
    return { stale, queued, failed: failures }
  }
  // A request whose failure shows the problem may have ended before the problem is found.
  let before = count()
  let updatedAt = now()
  const current = (): readonly Problem[] => {
    const at = now()
    const present = count()
    const problems = find().map((problem) => {
      const known = begun.get(problem.kind)
      const lasts = known !== undefined && (known.seenAt === updatedAt || at - known.seenAt <= MAX_PAUSE_MS)
      const begin = lasts ? known : { since: new Date(at).toISOString(), start: before, seenAt: at }
      begin.seenAt = at
      begun.set(problem.kind, begin)
      const { since, start } = begin
      return { ...problem, since, meanwhile: differenceOf(present, start) }
    })
    before = present
    updatedAt = at
    return problems
  }
  const timer = setInterval(current, UPDATE_INTERVAL_MS).unref()
  return { current, stop: () => clearInterval(timer) }
}

function differenceOf(present: Meanwhile, start: Meanwhile): Meanwhile {
  return {
    stale: present.stale - start.stale,
    queued: present.queued - start.queued,
    failed: present.failed - start.failed,
  }
}
