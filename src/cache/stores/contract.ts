import type { Tag } from '../../catalogue/endpoint.ts'
import type { KeptAnswer, Listed, Look, Mark } from '../../core/stored-response.ts'

/** An answer to be kept as of the mark that its fill began with. */
export interface NewEntry {
  readonly key: string
  readonly tags: readonly Tag[]
  readonly mark: Mark
  readonly answer: Omit<KeptAnswer, 'age'>
  /** Milliseconds that it is older than its fill: the age that its oldest part had been kept for by then. */
  readonly older?: number
  /** What `/cache` shows of it; none of it is looked into by the store. */
  readonly listed: Listed
}

/** One fill for all replicas. `settled` resolves when the holder has kept an answer, given up or died. */
export type Claim =
  | { readonly held: true; release(): Promise<void> }
  | { readonly held: false; readonly settled: Promise<void> }

/** A write under way. Its tags are raised and fenced on every replica with a live lease when `fence` resolves. */
export interface Fence {
  /** `refused`: nobody can be told, and `onLostStore` is `refuse`: the write must not be forwarded. */
  readonly state: 'standing' | 'alone' | 'refused'
  /**
   * Raises the tags again, and those that the answer named, drops the fence, and resolves when no replica can serve
   * what was before (or when its lease has run out): only then may the 2xx leave.
   */
  lift(more: readonly Tag[]): Promise<void>
  /** The outcome is unknown: the fence stays for its lease. */
  leave(): void
}

export interface AnswerStore {
  look(key: string, tags: readonly Tag[]): Look | Promise<Look>
  keep(entry: NewEntry): Promise<void>
  /** `patience`: milliseconds after which a holder that gave no sign counts as dead. */
  claim(key: string, mark: Mark, patience: number): Promise<Claim>
  fence(tags: readonly Tag[]): Promise<Fence>
}
