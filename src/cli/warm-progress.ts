import type { Outcome, Told } from './warm-run.ts'

export interface Progress {
  tell(told: Told): void
  paused(milliseconds: number): void
  summary(): string
  failed(): number
}

/** Reasons that are written out; a list of wrong URLs should not fill the screen. */
const REASONS = 20
/** Milliseconds between two lines: often enough for eyes, and seldom enough for a log. */
const EYES = 1000
const LOG = 10_000

/** One line now and then, and the reasons of what failed, all to `write`. */
export function progress(total: number, write: (line: string) => void, eyes: boolean): Progress {
  const counts: Record<Outcome, number> = { filled: 0, kept: 0, unkept: 0, failed: 0 }
  const started = performance.now()
  const every = eyes ? EYES : LOG
  let said = started
  let reasons = 0
  const done = () => counts.filled + counts.kept + counts.unkept + counts.failed
  const standing = () =>
    `${counts.filled} filled, ${counts.kept} were kept already, ${counts.unkept} are not kept, ${counts.failed} failed`
  return {
    tell: ({ path, outcome, why }) => {
      counts[outcome]++
      if (why !== undefined && reasons++ < REASONS) write(`${path}: ${outcome === 'failed' ? why : `not kept, ${why}`}`)
      if (performance.now() - said < every) return
      said = performance.now()
      write(`${done()} of ${total}: ${standing()}`)
    },
    paused: (milliseconds) => write(`the edge is at its limit; waiting ${(milliseconds / 1000).toFixed(1)} s`),
    summary: () => `${standing()}, of ${total} in ${((performance.now() - started) / 1000).toFixed(1)} s`,
    failed: () => counts.failed,
  }
}
