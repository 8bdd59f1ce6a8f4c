/**
 * Warms up the servers of one kind of requests, so that V8 has compiled what a request needs. The cases take turns: a case
 * that is warmed up before all others has cooled when its first round is measured, which then costs up to three times as
 * much as the later ones. All cases get the same number of slices.
 */
import type { Sample } from './load.ts'

export interface WarmUp<Of> {
  /** Runs the load of one slice. A case whose slice rejects takes no further part; `onFailure` may throw to end the benchmark. */
  readonly run: (each: Of) => Promise<Sample>
  readonly onFailure: (each: Of, fault: unknown) => void
  /** Called after each round, with the CPU time of each case in all rounds so far. */
  readonly onRound: (figures: ReadonlyMap<Of, readonly number[]>) => void
  /** Milliseconds after which no further round begins. */
  readonly maxMs: number
  readonly clock?: () => number
}

export interface WarmedUp<Of> {
  /** The cases that can be measured. */
  readonly cases: readonly Of[]
  /** Whether the figures settled within the time. */
  readonly isSettled: boolean
}

/** A figure has settled when it differs from that of the round before by at most this share. */
const MAX_CHANGE = 0.1

/** Runs the cases in rounds until the figure of each has settled, or time is over. */
export async function warmUpInTurns<Of>(cases: readonly Of[], warmUp: WarmUp<Of>): Promise<WarmedUp<Of>> {
  const { run, onFailure, onRound, maxMs, clock = () => performance.now() } = warmUp
  const latest = clock() + maxMs
  const figures = new Map<Of, number[]>(cases.map((each) => [each, []]))
  while (figures.size > 0) {
    for (const [each, taken] of figures) {
      try {
        taken.push((await run(each)).cpu)
      } catch (fault) {
        figures.delete(each)
        onFailure(each, fault)
      }
    }
    onRound(figures)
    const isSettled = [...figures.values()].every(hasSettled)
    if (isSettled || clock() >= latest) return { cases: [...figures.keys()], isSettled }
  }
  return { cases: [], isSettled: true }
}

function hasSettled(figures: readonly number[]): boolean {
  const [before, last] = figures.slice(-2)
  return before !== undefined && last !== undefined && Math.abs(last - before) <= MAX_CHANGE * before
}
