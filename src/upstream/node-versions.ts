/** The versions of nodes: as they have shown them, or as the list of nodes has them. */
import type { NodeVersions } from '../core/node-call.ts'

/** A node may be upgraded. Its list has the new version within 30 s, and the node itself shows it at once. */
const KNOWN_FOR_MS = 60_000

/** `listed`: returns the version of a node in the list of nodes, which is read again at intervals. */
export function createNodeVersions(listed: (node: string) => string | undefined, clock: () => number): NodeVersions {
  const shown = new Map<string, { readonly version: string; readonly until: number }>()
  return {
    of: (node) => {
      const own = shown.get(node)
      if (own !== undefined && own.until > clock()) return own.version
      shown.delete(node)
      return listed(node)
    },
    note: (node, version) => {
      shown.set(node, { version, until: clock() + KNOWN_FOR_MS })
    },
  }
}
