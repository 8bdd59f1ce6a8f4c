/**
 * Tag epochs, and the tags of keys and purges. The epoch of a tag is the text `writes~softInvalidations`. The key of an entry is
 * a tag as well. The epoch of the key is appended to that of the first tag after a slash, so that a list of epochs has one text
 * for each tag.
 */

import type { Tag } from '../../contracts/endpoint.ts'
import type { PurgeScope } from '../../core/cache-entries.ts'
import type { Lookup, StoredBytes, TagEpochs } from '../../core/stored-response.ts'

/** Maximum number of entries that are evicted at once: after a reload with a smaller bound, later entries evict the rest. */
export const MAX_EVICTIONS = 1000

/** The epoch of a tag that was never invalidated in this generation. */
export const INITIAL_EPOCH = '0~0'

/** `stale`: only soft invalidations happened in between. `changed`: a write did, so the response must not be served. */
type EpochComparison = 'same' | 'stale' | 'changed'

export function compareEpochs(stored: Pick<TagEpochs, 'generation' | 'epochs'>, now: TagEpochs): EpochComparison {
  if (now.fenced || stored.generation !== now.generation || stored.epochs.length !== now.epochs.length) return 'changed'
  let comparison: EpochComparison = 'same'
  for (let at = 0; at < now.epochs.length; at += 1) {
    const before = stored.epochs[at]
    const after = now.epochs[at]
    if (before === after) continue
    if (before === undefined || after === undefined || writesOf(before) !== writesOf(after)) return 'changed'
    comparison = 'stale'
  }
  return comparison
}

/** Removes the counts of soft invalidations. */
function writesOf(epoch: string): string {
  return epoch.replaceAll(/~\d+/g, '')
}

/** Returns a text that two lookups share only if nothing was invalidated or fenced in between. */
export function epochsText(lookup: Lookup<StoredBytes>): string {
  if (lookup.kind === 'unavailable') return 'no epochs'
  const { generation, epochs, fenced } = lookup.epochs
  return `${generation} ${epochs.join(' ')} ${fenced}`
}

/** Appends the last epoch, that of the entry's key, to the first one. */
export function withKeyEpoch({ generation, epochs, fenced }: TagEpochs): TagEpochs {
  const own = epochs.at(-1)
  return { generation, epochs: epochs.slice(0, -1).map((epoch, at) => (at === 0 ? `${epoch}/${own}` : epoch)), fenced }
}

export function keyTag(key: string): string {
  return `key:${key}`
}

/**
 * Has the form of a tag of purges, but no stored response has it: the invalidation of any other tag looks like a write,
 * and this tag beside it makes every replica list its entries again.
 */
const PURGE_OF_TAG: Tag = 'cache:#tag'

export function purgeTags({ group, endpoint, tag, keys }: Omit<PurgeScope, 'soft'>): readonly Tag[] {
  if (keys !== undefined) return keys.map(keyTag)
  if (tag !== undefined) return [tag, PURGE_OF_TAG]
  if (endpoint !== undefined) return [endpointTag(endpoint)]
  return [group === undefined ? 'cache' : `cache:${group}`]
}

/** Returns the tag of all responses of an endpoint. Its name contains a slash, which no name of a group does. */
export function endpointTag(name: string): Tag {
  return `cache:${name}`
}

export function isPurgeTag(tag: Tag): boolean {
  return tag === 'cache' || tag.startsWith('cache:') || tag.startsWith('key:')
}
