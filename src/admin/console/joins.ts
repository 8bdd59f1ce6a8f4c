/** The last answers that were joined of what several nodes gave: a few, for people. */
import type { JoinEvent } from '../../core/events.ts'
import type { JoinedLine } from './answers/nodes.ts'

export interface Joins {
  join(event: JoinEvent): void
  /** The newest first. */
  last(): readonly JoinedLine[]
}

const MOST = 20

/** `clock`: monotonic milliseconds. */
export function createJoins(clock: () => number = () => performance.now()): Joins {
  const kept: { readonly at: number; readonly event: JoinEvent }[] = []
  return {
    join(event) {
      kept.unshift({ at: clock(), event })
      if (kept.length > MOST) kept.pop()
    },
    last: () => kept.map(({ at, event }) => lineOf(event, clock() - at)),
  }
}

function lineOf({ route, ms, nodes }: JoinEvent, ago: number): JoinedLine {
  const shares = nodes.map((share) => (share.ms === undefined ? share : { ...share, ms: Math.round(share.ms) }))
  return { ago: Math.round(ago), route, ms: Math.round(ms), nodes: shares }
}
