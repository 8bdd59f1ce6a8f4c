/** How long reads of replicated data go to the master only, after a write. */

import type { Tag } from '../contracts/endpoint.ts'
import type { CopyState } from '../core/request.ts'
import type { Lookup } from '../core/stored-response.ts'

/** Tags of data that worker nodes replicate from the master. */
const REPLICATED_TAGS: ReadonlySet<Tag> = new Set(['rules', 'decoders', 'lists'])
const REPLICATED_FAMILY = 'group:'

/**
 * Worker nodes check for changes of replicated data every 9 s. Until two checks have passed after a change, a worker
 * may still answer with older data, so reads of it go to the master only.
 */
export type ReplicationLag = ReturnType<typeof createReplicationLag>

interface ReplicationLagPorts {
  /** `replicationLag`: milliseconds. */
  readonly settings: () => { readonly replicationLag: number }
  readonly clock: () => number
}

/** A write through another replica counts from when this replica first sees its epochs. */
export function createReplicationLag({ settings, clock }: ReplicationLagPorts) {
  const lagEnds = new Map<Tag, number>()
  const knownEpochs = new Map<Tag, { readonly epoch: string; readonly since: number }>()
  return {
    /** To be called for a write through this replica of the edge. */
    noteWrite: (tags: readonly Tag[]): void => {
      for (const tag of tags) if (isReplicated(tag)) lagEnds.set(tag, clock() + settings().replicationLag)
    },
    /** Returns the state of the copies of data with these tags. Writes through other replicas show in the epochs of the lookup. */
    stateOf: (tags: readonly Tag[], lookup: Lookup): CopyState => {
      const replicated = tags.filter(isReplicated)
      if (replicated.length === 0) return 'current'
      if (lookup.kind === 'unavailable') return replicated.some(isLagging) ? 'lagging' : 'unknown'
      const { generation, epochs, fenced } = lookup.epochs
      if (fenced) return 'lagging'
      for (const tag of replicated) noteEpoch(tag, `${generation} ${epochs[tags.indexOf(tag)]}`)
      if (replicated.some(isLagging)) return 'lagging'
      return replicated.every(isKnownForPeriod) ? 'current' : 'unknown'
    },
  }

  function noteEpoch(tag: Tag, epoch: string): void {
    const known = knownEpochs.get(tag)
    if (known?.epoch === epoch) return
    if (known !== undefined) lagEnds.set(tag, clock() + settings().replicationLag)
    knownEpochs.set(tag, { epoch, since: clock() })
  }

  /** Whether no replica can have written within the period. */
  function isKnownForPeriod(tag: Tag): boolean {
    const known = knownEpochs.get(tag)
    return known !== undefined && clock() - known.since >= settings().replicationLag
  }

  function isLagging(tag: Tag): boolean {
    const end = lagEnds.get(tag)
    if (end === undefined) return false
    if (end > clock()) return true
    lagEnds.delete(tag)
    return false
  }
}

function isReplicated(tag: Tag): boolean {
  return REPLICATED_TAGS.has(tag) || tag.startsWith(REPLICATED_FAMILY)
}
