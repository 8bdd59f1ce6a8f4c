/**
 * Counts of events in a time, as texts by name: of this process, or of all replicas (replicas/shared-counters.ts). What a text
 * means, and when a limit is reached, is a rule: a function that reads and replaces texts. So each rule exists once,
 * wherever its counts are stored.
 */
import type { LRUCache } from 'lru-cache'
import { growingLru } from './recently-used.ts'

/** The counts that a rule may use: those whose names its caller has given. */
export interface CounterTexts {
  /** Returns an empty text if there is none. */
  get(name: string): string
  /** Stores a text for `lifetime` milliseconds. An empty text removes it. */
  set(name: string, text: string, lifetime: number): void
}

export interface CounterStep {
  /** Milliseconds since 1970 by the clock of the counters. */
  readonly now: number
  /** How often an event counts: while Redis is unreachable, each replica assumes that the others count as many. */
  readonly weight: number
  /** The result is stored where all replicas count. */
  readonly isShared: boolean
}

/** Must have no effect but on the texts: it runs again if another replica has changed one of them. */
export type CounterRule<Result> = (texts: CounterTexts, step: CounterStep) => Result

export interface Counters {
  /** Applies a rule to the texts of these names in one step. Never rejects. */
  update<Result>(names: readonly string[], rule: CounterRule<Result>): Promise<Result>
  /** Returns a text as this process knows it. */
  peek(name: string): string
  now(): number
  readonly weight: number
  readonly isReachable: boolean
  /** The replicas that count together. */
  readonly replicas: number
  /** Returns a part of a name for texts that must not be stored, such as names of users: letters, digits, `-` and `_`. */
  digest(...parts: readonly string[]): string
  /** Calls `listener` about once a second, to read counts that others change, until the returned function is called. */
  onBeat(listener: () => void): () => void
}

/** The counters of a process that shares with no other. `elapsed`: milliseconds of a monotonic clock. */
export function createCounters(elapsed: () => number): Counters {
  const origin = Date.now()
  const now = () => Math.floor(origin + elapsed())
  const texts = new StoredTexts(now)
  return {
    update: async (_names, rule) => rule(texts, { now: now(), weight: 1, isShared: true }),
    peek: (name) => texts.get(name),
    now,
    weight: 1,
    isReachable: true,
    replicas: 1,
    digest: (...parts) => Buffer.from(parts.join(' ')).toString('base64url'),
    onBeat: () => () => undefined,
  }
}

/** Of each kind of count. The least recently used one is forgotten. */
const MAX_TEXTS = 20_000

interface StoredText {
  readonly text: string
  readonly until: number
}

/** Texts in memory. The kind of a count is its name up to the colon; no kind displaces another. */
export class StoredTexts implements CounterTexts {
  readonly #now: () => number
  readonly #kinds = new Map<string, LRUCache<string, StoredText>>()

  constructor(now: () => number) {
    this.#now = now
  }

  get(name: string): string {
    const stored = this.#kindOf(name).get(name)
    return stored !== undefined && stored.until > this.#now() ? stored.text : ''
  }

  set(name: string, text: string, lifetime = Number.POSITIVE_INFINITY): void {
    const texts = this.#kindOf(name)
    if (text === '') texts.delete(name)
    else texts.set(name, { text, until: this.#now() + lifetime })
  }

  #kindOf(name: string): LRUCache<string, StoredText> {
    const kind = name.split(':', 1)[0] ?? ''
    let texts = this.#kinds.get(kind)
    if (texts === undefined) {
      texts = growingLru(MAX_TEXTS)
      this.#kinds.set(kind, texts)
    }
    return texts
  }
}
