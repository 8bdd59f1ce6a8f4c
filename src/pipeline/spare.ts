/** Capacity that nobody asks for: what may be spent on fetching ahead of time. */
import type { Ask, ClusterView } from './ports.ts'
import type { Router } from './route.ts'

/** Would the node that an Ask goes to take it, and still have a place for the next client? A node that is gone would not. */
export function spareCapacity({ view, route }: { view: ClusterView; route: Router }): (ask: Ask) => boolean {
  return (ask) => {
    try {
      const node = route(ask, view)[0]?.node
      return node !== undefined && view.spare(node) > 1
    } catch {
      return false
    }
  }
}
