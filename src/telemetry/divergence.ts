/** How often cache hits differed from a fresh response of the nodes, for each cache group since the start. */
import type { EdgeEvents } from './events.ts'

export interface Divergence {
  readonly group: string
  /** Hits that were compared with a fresh response. */
  readonly asked: number
  readonly different: number
}

/** Counts from now on. Returns the function that reads the counts; groups without a comparison are absent. */
export function countDivergence({ on }: Pick<EdgeEvents, 'on'>): () => readonly Divergence[] {
  const counts = new Map<string, { asked: number; different: number }>()
  on({
    cache: (event) => {
      if (event.kind !== 'verified' || event.outcome === 'void') return
      const count = counts.get(event.group) ?? { asked: 0, different: 0 }
      count.asked += 1
      count.different += event.outcome === 'different' ? 1 : 0
      counts.set(event.group, count)
    },
  })
  return () => [...counts].map(([group, count]) => ({ group, ...count }))
}
