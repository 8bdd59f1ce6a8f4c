/** How many requests may be under way at once: one at first, one more for each round that went well, half where others wait. */
import { CommandError } from './terminal.ts'
import type { EdgeClient } from './warm-client.ts'

export interface Pace {
  readonly width: number
  /** A request was answered, whatever with: there was room for it. */
  answered(): void
  /** The edge refused one, since its nodes are full. */
  refused(): void
  /** What the edge says of its nodes; absent: nothing any more. */
  heard(nodes: readonly NodeRoom[] | undefined): void
}

/** A node as the edge sees it. */
export interface NodeRoom {
  readonly inFlight: number
  readonly limit: number
  readonly queue: number
}

export function pace(most: number): Pace {
  let width = 1
  let ceiling = most
  let well = 0
  const narrow = () => {
    width = Math.max(1, Math.floor(width / 2))
    well = 0
  }
  return {
    get width() {
      return width
    },
    answered() {
      well += 1
      if (well < width) return
      width = Math.min(ceiling, width + 1)
      well = 0
    },
    refused: narrow,
    heard(nodes) {
      // Whoever does not see how full they are goes one at a time.
      const rooms = nodes?.map((node) => roomOn(node, width)) ?? []
      ceiling = rooms.length === 0 ? 1 : Math.max(1, Math.min(most, ...rooms))
      width = Math.min(width, ceiling)
      if (nodes?.some(({ queue }) => queue > 0)) narrow()
    },
  }
}

/** Half of what others leave free: those who come next find a place. `mine` may all be there. */
function roomOn({ limit, inFlight }: NodeRoom, mine: number): number {
  return Math.floor((limit - Math.max(0, inFlight - mine)) / 2)
}

/** Reads them from the operations listener; rejects with a `CommandError` that says why it cannot. */
export async function readNodes(operations: Pick<EdgeClient, 'read'>): Promise<readonly NodeRoom[]> {
  const { status, text } = await operations.read('/api/nodes').catch((fault: Error) => {
    throw new CommandError(`the operations listener cannot be reached: ${fault.message}`)
  })
  const nodes = status === 200 ? nodesIn(text) : undefined
  if (nodes !== undefined) return nodes
  throw new CommandError(`GET /api/nodes of the operations listener answers ${status}; it needs operations:read`)
}

/** Of those that take calls. */
function nodesIn(text: string): readonly NodeRoom[] | undefined {
  try {
    const { nodes } = JSON.parse(text) as { readonly nodes: readonly (NodeRoom & { readonly state: string })[] }
    return nodes.filter(({ state, limit }) => (state === 'up' || state === 'full') && limit > 0)
  } catch {
    return undefined
  }
}
