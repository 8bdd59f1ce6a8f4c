/**
 * Marks compared. The epoch of a tag is the text `writes~softDrops`; that of the entry's own key, which only a drop of
 * this key raises, is joined to the first one by a slash.
 */
import type { Mark } from '../pipeline/kept.ts'

/** What a tag reads as that nobody has raised in this generation. */
export const UNRAISED = '0~0'

/** `softened`: only soft drops lie between the two, so that the entry is stale but not wrong. */
export type Difference = 'same' | 'softened' | 'changed'

export function compareMarks(kept: Pick<Mark, 'generation' | 'epochs'>, now: Mark): Difference {
  if (now.fenced || kept.generation !== now.generation || kept.epochs.length !== now.epochs.length) return 'changed'
  let difference: Difference = 'same'
  for (let at = 0; at < now.epochs.length; at += 1) {
    const before = kept.epochs[at]
    const after = now.epochs[at]
    if (before === after) continue
    if (before === undefined || after === undefined || written(before) !== written(after)) return 'changed'
    difference = 'softened'
  }
  return difference
}

/** Only the parts that hard raises count. */
function written(epoch: string): string {
  return epoch.replaceAll(/~\d+/g, '')
}

/** Joins the epoch of an entry's own key to those of its tags, which are given back one for each tag. */
export function withKey(epochs: readonly string[], ofKey: string): readonly string[] {
  return epochs.map((epoch, at) => (at === 0 ? `${epoch}/${ofKey}` : epoch))
}

/** The tag of one entry alone. */
export function keyTag(key: string): string {
  return `key:${key}`
}
