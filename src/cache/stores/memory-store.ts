/** The store of one process: the same contract as Redis, without anything that could be away. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { CacheIndex, CacheStoreState, IndexEntry, Lookup, TagEpochs } from '../../core/response.ts'
import type { CacheStore, FetchLock, NewStoredResponse, WriteFence } from './contract.ts'
import { begun, compareMarks, keyTag, Standing } from './epochs.ts'
import { answerOf, type Held, HeldEntries, heldOf, lifetime } from './local-entries.ts'

export interface MemoryStoreOptions {
  /** The least recently used entries go beyond so many bytes. */
  readonly bytes: number
  /** Milliseconds that a fence stands after `leave` (default 240 s). */
  readonly fenceLease?: number
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
}

export type MemoryStore = CacheStore & CacheIndex & { state(): CacheStoreState; close(): Promise<void> }

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const kept = new MemoryKept(options)
  return {
    lookup: (key, tags) => kept.look(key, tags),
    peek: async (key, tags) => kept.peek(key, tags),
    store: async (entry) => kept.keep(entry),
    acquireFetchLock: async (key, mark) => kept.claim(key, mark),
    fence: async (tags) => kept.fence(tags),
    list: async (group, heard) => kept.rows(group, heard),
    purge: async (what) => kept.drop(what),
    state: () => kept.state,
    close: async () => kept.close(),
  }
}

/** Rows that are read without a pause. */
const SOME_ROWS = 1000

class MemoryKept {
  readonly #elapsed: () => number
  readonly #fenceLease: number
  readonly #entries: HeldEntries
  readonly #standing: Standing
  readonly #hits = new WeakMap<Held, number>()
  readonly #claims = new Map<string, Promise<void>>()

  constructor({ bytes, fenceLease = 240_000, elapsed = () => performance.now() }: MemoryStoreOptions) {
    this.#elapsed = elapsed
    this.#fenceLease = fenceLease
    this.#entries = new HeldEntries(bytes, elapsed)
    this.#standing = new Standing(elapsed)
  }

  look(key: string, tags: readonly Tag[]): Lookup {
    const held = this.#entries.get(key)
    const look = this.#compared(key, tags, held)
    if (held !== undefined && look.kind === 'hit') this.#hits.set(held, (this.#hits.get(held) ?? 0) + 1)
    return look
  }

  peek(key: string, tags: readonly Tag[]): Lookup {
    return this.#compared(key, tags, this.#entries.peek(key))
  }

  keep(entry: NewStoredResponse): void {
    const now = this.#standing.mark(entry.key, entry.tags)
    if (compareMarks(entry.epochs, now) !== 'same') return
    this.#entries.set(entry.key, heldOf(entry, begun(entry.epochs) ?? this.#elapsed() - entry.response.fetchTime))
  }

  claim(key: string, mark: TagEpochs): FetchLock {
    const name = JSON.stringify([key, mark.generation, ...mark.epochs])
    const settled = this.#claims.get(name)
    if (settled !== undefined) return { held: false, settled }
    const { promise, settle } = settling()
    this.#claims.set(name, promise)
    return {
      held: true,
      release: async () => {
        // A second release must not take the claim of whoever came after.
        if (this.#claims.get(name) === promise) this.#claims.delete(name)
        settle()
      },
    }
  }

  fence(tags: readonly Tag[]): WriteFence {
    const fence = Symbol('write')
    this.#standing.raise(tags)
    this.#standing.fence(fence, tags, Number.POSITIVE_INFINITY)
    return {
      state: 'active',
      lift: async (more) => {
        this.#standing.raise([...tags, ...more])
        this.#standing.lift(fence, tags)
      },
      keepUntilLeaseEnds: () => this.#standing.fence(fence, tags, this.#fenceLease),
    }
  }

  /** In turns: there may be many, and requests come between. */
  async rows(group?: string, heard?: (rows: readonly IndexEntry[]) => void): Promise<IndexEntry[]> {
    const rows: IndexEntry[] = []
    let seen = 0
    for (const [key, held] of this.#entries.all()) {
      seen += 1
      if (seen % SOME_ROWS === 0) {
        heard?.(rows)
        await turn()
      }
      if (group !== undefined && held.listed.group !== group) continue
      const age = this.#elapsed() - held.begun
      if (compareMarks(held, this.#standing.mark(key, held.tags)) === 'changed') continue
      const { body: bytes, fetchTime: cost } = held.answer
      const hits = this.#hits.get(held) ?? 0
      rows.push({
        ...held.listed,
        key,
        size: bytes.length,
        age,
        timeLeft: lifetime(held.answer) - age,
        hits,
        fetchTime: cost,
      })
    }
    return rows
  }

  drop({ group, key, soft = false }: { group?: string; key?: string; soft?: boolean }): void {
    this.#standing.raise([key !== undefined ? keyTag(key) : group !== undefined ? `cache:${group}` : 'cache'], soft)
    if (soft) return
    for (const [name, held] of key === undefined ? this.#entries.all() : []) {
      if (group === undefined || held.listed.group === group) this.#entries.delete(name)
    }
    if (key !== undefined) this.#entries.delete(key)
  }

  get state(): CacheStoreState {
    return { up: true, local: { bytes: this.#entries.bytes, entries: this.#entries.count } }
  }

  close(): void {
    this.#entries.clear()
  }

  #compared(key: string, tags: readonly Tag[], held: Held | undefined): Lookup {
    const mark = this.#standing.mark(key, tags)
    if (held === undefined) return { kind: 'miss', epochs: mark, changed: false }
    const difference = compareMarks(held, mark)
    if (difference === 'changed') return { kind: 'miss', epochs: mark, changed: true }
    return {
      kind: 'hit',
      epochs: mark,
      response: answerOf(held, this.#elapsed(), difference === 'softened'),
      isLocal: true,
    }
  }
}

function settling(): { promise: Promise<void>; settle: () => void } {
  let settle = () => {}
  const promise = new Promise<void>((resolve) => {
    settle = resolve
  })
  return { promise, settle }
}
