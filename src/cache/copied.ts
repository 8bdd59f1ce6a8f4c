/**
 * Data that workers copy from the master (contract/semantics.md section 4: checked every 9 s). For two rounds after a
 * change a worker may still hold what was before, so reads of it go to the master alone.
 */
import type { Tag } from '../catalogue/endpoint.ts'
import type { Lookup } from '../core/response.ts'

const COPIED: ReadonlySet<Tag> = new Set(['rules', 'decoders', 'lists'])
const COPIED_FAMILY = 'group:'

export interface CopiedData {
  /** A write through this replica touches, or has touched, these tags. */
  wrote(tags: readonly Tag[]): void
  /** Has any of the tags been touched of late? The look shows the writes of other replicas, as epochs that moved. */
  changed(tags: readonly Tag[], look: Lookup): boolean
}

/** `period` in milliseconds. A write of another replica counts from the moment at which this one saw it. */
export function copiedData({ period, clock }: { period: number; clock: () => number }): CopiedData {
  const until = new Map<Tag, number>()
  const epochs = new Map<Tag, string>()
  const touch = (tag: Tag) => until.set(tag, clock() + period)
  const compare = (tag: Tag, epoch: string) => {
    const before = epochs.get(tag)
    if (before !== undefined && before !== epoch) touch(tag)
    epochs.set(tag, epoch)
  }
  const pending = (tag: Tag): boolean => {
    const end = until.get(tag)
    if (end === undefined) return false
    if (end > clock()) return true
    until.delete(tag)
    return false
  }
  return {
    wrote: (tags) => tags.filter(isCopied).forEach(touch),
    changed: (tags, look) => {
      const copied = tags.filter(isCopied)
      if (copied.length === 0) return false
      if (look.kind !== 'unavailable') {
        if (look.epochs.fenced) return true
        for (const tag of copied) compare(tag, `${look.epochs.generation} ${look.epochs.epochs[tags.indexOf(tag)]}`)
      }
      return copied.some(pending)
    },
  }
}

function isCopied(tag: Tag): boolean {
  return COPIED.has(tag) || tag.startsWith(COPIED_FAMILY)
}
