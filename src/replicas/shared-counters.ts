/**
 * The counters of all replicas. Each count is a text in Redis. A replica runs the rule on the texts that it knows and
 * replaces them if no other replica has changed them; otherwise it runs the rule again. Changes that arrive during a step
 * share the next one. If Redis is unreachable, a replica goes on with the texts that it knows.
 *
 * All keys have one hash tag, so that a step finds its keys on one node of a Redis Cluster.
 */

import { createHmac } from 'node:crypto'
import { type CounterRule, type CounterStep, type Counters, StoredTexts } from '../core/counters.ts'
import { REPLACE_TEXTS } from './counter-script.ts'
import { redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'

type ChangeReply = 1 | readonly string[]

const MAX_CHANGES_PER_STEP = 64
/** Another replica, closer to Redis, may change a count in each step. After this number of steps, this replica counts alone. */
const MAX_STEPS = 100
/** Greatest deviation of the time of Redis, in milliseconds. */
const MAX_DEVIATION_MS = 1_000

interface Change {
  readonly names: readonly string[]
  /** Runs the rule. Returns what must be stored; `resolve` passes on the result of the last run. */
  run(read: (name: string) => string, step: CounterStep): Drafts
  resolve(): void
  steps: number
}

/** The texts of one change: known and new, and the lifetime of the new one. */
type Drafts = Map<string, { readonly known: string; text: string; lifetime: number }>

export class SharedCounters implements Counters {
  readonly digest: Counters['digest']
  readonly #replica: RedisReplica
  readonly #known = new StoredTexts(() => this.now())
  /** Milliseconds of Redis at the time 0 of this process. An estimate before the first reply. */
  #offset: number
  #queue: Change[] = []
  #isRunning = false

  /** `key`: of the digests; the same on all replicas. */
  constructor(replica: RedisReplica, key?: Buffer) {
    this.digest = createDigest(key)
    this.#replica = replica
    this.#offset = Date.now() - replica.elapsed()
  }

  get replicas(): number {
    return this.#replica.heartbeat.replicas
  }

  get isReachable(): boolean {
    return this.#replica.contact.lostAt === undefined
  }

  get weight(): number {
    return this.#isShared ? 1 : this.replicas
  }

  now(): number {
    return Math.max(0, Math.floor(this.#replica.elapsed() + this.#offset))
  }

  peek(name: string): string {
    return this.#known.get(name)
  }

  onBeat(listener: () => void): () => void {
    return this.#replica.heartbeat.onBeat(listener)
  }

  update<Result>(names: readonly string[], rule: CounterRule<Result>): Promise<Result> {
    return new Promise((resolve) => {
      let settle = () => {}
      const run: Change['run'] = (read, step) => {
        const drafts: Drafts = new Map(
          names.map((name) => [name, { known: read(name), text: read(name), lifetime: 0 }]),
        )
        const get = (name: string) => drafts.get(name)?.text ?? ''
        const set = (name: string, text: string, lifetime: number) => {
          drafts.set(name, { known: read(name), text, lifetime: Math.max(1, Math.ceil(lifetime)) })
        }
        const result = rule({ get, set }, step)
        settle = () => resolve(result)
        return drafts
      }
      this.#queue.push({ names, run, resolve: () => settle(), steps: 0 })
      if (this.#isRunning) return
      this.#isRunning = true
      // In a later microtask, so that changes which are made together share a step.
      void Promise.resolve().then(() => this.#runAll())
    })
  }

  /** Redis is reachable, and all replicas count there. */
  get #isShared(): boolean {
    return this.#replica.contact.hasLeases
  }

  async #runAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const changes = this.#queue.splice(0, MAX_CHANGES_PER_STEP)
      const shared = this.#isShared ? changes.filter(({ steps }) => steps < MAX_STEPS) : []
      for (const change of changes) if (!shared.includes(change)) this.#applyAlone(change)
      if (shared.length > 0) await this.#step(shared)
    }
    this.#isRunning = false
  }

  /** A change with the same name as one before it continues from the text of that one, so both fail together. */
  async #step(changes: readonly Change[]): Promise<void> {
    const { commands, contact, times, elapsed } = this.#replica
    const now = this.now()
    const next = new Map<string, string>()
    const drafts = changes.map((change) => {
      const made = change.run((name) => next.get(name) ?? this.#known.get(name), { now, weight: 1, isShared: true })
      for (const [name, { text }] of made) next.set(name, text)
      return made
    })
    const keys = changes.flatMap(({ names }) => names.map(redisKeys.access))
    const args = drafts.flatMap((made) => [
      made.size,
      ...[...made.values()].flatMap(({ known, text, lifetime }) => [known, text, lifetime]),
    ])
    const reply = await commands.runScript<[now: number, ...results: ChangeReply[]]>(
      REPLACE_TEXTS,
      keys,
      [now, MAX_DEVIATION_MS, ...args],
      times.commandTimeout,
    )
    contact.reportReply(reply)
    if (!reply.ok) {
      for (const change of changes) this.#applyAlone(change)
      return
    }
    const [time, ...results] = reply.value
    this.#offset = time - elapsed()
    const again = changes.filter((change, at) => this.#take(change, drafts[at] ?? new Map(), results[at] ?? 1))
    this.#queue.unshift(...again)
  }

  /** Takes the result of a change. Returns whether it must be made again. */
  #take(change: Change, drafts: Drafts, result: ChangeReply): boolean {
    if (result === 1) {
      this.#keep(drafts)
      change.resolve()
      return false
    }
    for (const [at, name] of change.names.entries()) this.#known.set(name, result[at] ?? '')
    change.steps += 1
    return true
  }

  #keep(drafts: Drafts): void {
    for (const [name, { text, known, lifetime }] of drafts) if (text !== known) this.#known.set(name, text, lifetime)
  }

  #applyAlone(change: Change): void {
    const step = { now: this.now(), weight: this.replicas, isShared: false }
    this.#keep(change.run((name) => this.#known.get(name), step))
    change.resolve()
  }
}

/**
 * Names and addresses are not stored as text: a user may type a password as a name. Returns 128 bits of a keyed digest. The
 * length of each part precedes it. Without a key, anyone can compute it.
 */
function createDigest(key: Buffer | undefined): (...parts: readonly string[]) => string {
  return (...parts) => {
    const hmac = createHmac('sha256', key ?? 'manager-edge')
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:${part}`)
    return hmac.digest('base64url').slice(0, 22)
  }
}
