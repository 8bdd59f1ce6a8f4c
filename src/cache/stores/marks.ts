/**
 * Marks compared. The epoch of a tag is the text `writes~softDrops`; that of the entry's own key, which only a drop of
 * this key raises, is joined to the first one by a slash.
 */
import type { TagEpochs } from '../../core/stored-response.ts'

/** What a tag reads as that nobody has raised in this generation. */
export const UNRAISED = '0~0'

/** `softened`: only soft drops lie between the two, so that the entry is stale but not wrong. */
export type Difference = 'same' | 'softened' | 'changed'

export function compareMarks(kept: Pick<TagEpochs, 'generation' | 'epochs'>, now: TagEpochs): Difference {
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

/** A mark whose last epoch is that of the entry's own key: joined to the first, so that one stands for each tag. */
export function withOwn({ generation, epochs, fenced }: TagEpochs): TagEpochs {
  const own = epochs.at(-1)
  return { generation, epochs: epochs.slice(0, -1).map((epoch, at) => (at === 0 ? `${epoch}/${own}` : epoch)), fenced }
}

/** A mark that knows when it was read: the fill that it begins is as old as that. */
export class ReadMark implements TagEpochs {
  readonly generation: string
  readonly epochs: readonly string[]
  readonly fenced: boolean
  readonly #at: number

  constructor({ generation, epochs, fenced }: TagEpochs, at: number) {
    this.generation = generation
    this.epochs = epochs
    this.fenced = fenced
    this.#at = at
  }

  static at(mark: TagEpochs): number | undefined {
    return #at in mark ? mark.#at : undefined
  }
}

/** When the fill of this mark began, by the store's clock; undefined for a mark that the store did not make. */
export function begun(mark: TagEpochs): number | undefined {
  return ReadMark.at(mark)
}

/** The tag of one entry alone. */
export function keyTag(key: string): string {
  return `key:${key}`
}
