/**
 * The counters of all replicas. Each count is a text in Redis. A replica runs the rule on the texts that it knows and
 * replaces them if no other replica has changed them; otherwise it runs the rule again. Changes that arrive during a step
 * share the next one. If Redis is unreachable, a replica goes on with the texts that it knows.
 *
 * All keys have one hash tag, so that a step finds its keys on one node of a Redis Cluster.
 */

import { createHmac } from 'node:crypto'
import { type CounterRule, type CounterStep, type Counters, StoredTexts } from '../core/counters.ts'
import { redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { NOW, script } from './scripts.ts'

/**
 * Replaces texts if they are those that the replica knows, each change in one step and apart from the others. A change
 * that was computed for another time, because the clock of Redis was not known, is not carried out.
 * KEYS: of all changes. ARGV: time of the replica, greatest deviation, then for each change the number of its keys, and for
 * each of them the known text, the new one and its lifetime. Texts are empty if there is none. Returns the time of
 * Redis, and for each change 1 (carried out), 0 (a key has another type), or the texts in Redis.
 */
const REPLACE = script(
  NOW,
  `
local results = { now }
local isOnTime = math.abs(now - ARGV[1]) <= tonumber(ARGV[2])
local key, arg = 0, 3
while arg <= #ARGV do
  local count, texts, isSame, isText = tonumber(ARGV[arg]), {}, isOnTime, true
  for each = 1, count do
    local text = redis.pcall('GET', KEYS[key + each]) or ''
    texts[each] = text
    isText = isText and type(text) == 'string'
    isSame = isSame and text == ARGV[arg + 3 * each - 2]
  end
  if isSame then
    for each = 1, count do
      local at = arg + 3 * each - 2
      if ARGV[at + 1] == '' then
        if ARGV[at] ~= '' then redis.call('DEL', KEYS[key + each]) end
      elseif ARGV[at + 1] ~= ARGV[at] then
        redis.call('SET', KEYS[key + each], ARGV[at + 1], 'PX', ARGV[at + 2])
      end
    end
  end
  results[#results + 1] = isSame and 1 or isText and texts or 0
  key, arg = key + count, arg + 3 * count + 1
end
return results`,
)

type ChangeReply = 0 | 1 | readonly string[]

const MAX_CHANGES_PER_STEP = 64
/** Another replica, closer to Redis, may change a count in each step. After this number of steps, this replica counts alone. */
const MAX_STEPS = 100
/** Greatest deviation of the time of Redis, in milliseconds. */
const MAX_DEVIATION_MS = 1_000

interface Change {
  readonly names: readonly string[]
  /** Runs the rule. Returns what must be stored; `resolve` passes the result of the last run on. */
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
    return this.#replica.heartbeat.lostAt === undefined
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
      let last: { readonly result: Result } | undefined
      this.#queue.push({
        names,
        run: (read, step) => {
          const drafts: Drafts = new Map()
          for (const name of names) drafts.set(name, { known: read(name), text: read(name), lifetime: 0 })
          const get = (name: string) => drafts.get(name)?.text ?? ''
          const set = (name: string, text: string, lifetime: number) => {
            drafts.set(name, { known: read(name), text, lifetime: Math.max(1, Math.ceil(lifetime)) })
          }
          last = { result: rule({ get, set }, step) }
          return drafts
        },
        resolve: () => last && resolve(last.result),
        steps: 0,
      })
      if (this.#isRunning) return
      this.#isRunning = true
      // In a later microtask, so that changes which are made together share a step.
      void Promise.resolve().then(() => this.#runAll())
    })
  }

  /** Redis is reachable, and all replicas count there. */
  get #isShared(): boolean {
    return this.#replica.heartbeat.hasLeases
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
    const { commands, heartbeat, times, elapsed } = this.#replica
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
      REPLACE,
      keys,
      [now, MAX_DEVIATION_MS, ...args],
      times.commandTimeout,
    )
    heartbeat.reportReply(reply)
    if (!reply.ok) {
      for (const change of changes) this.#applyAlone(change)
      return
    }
    const [time, ...results] = reply.value
    this.#offset = time - elapsed()
    const again = changes.filter((change, at) => this.#take(change, drafts[at] ?? new Map(), results[at] ?? 0))
    this.#queue.unshift(...again)
  }

  /** Takes the result of a change. Returns whether it must be made again. */
  #take(change: Change, drafts: Drafts, result: ChangeReply): boolean {
    if (result === 1) {
      for (const [name, { text, known, lifetime }] of drafts) if (text !== known) this.#known.set(name, text, lifetime)
      change.resolve()
    } else if (result === 0) {
      void this.#replica.wrongTypes.check(change.names.map(redisKeys.access))
      this.#applyAlone(change)
    } else {
      for (const [at, name] of change.names.entries()) this.#known.set(name, result[at] ?? '')
      change.steps += 1
      return true
    }
    return false
  }

  #applyAlone(change: Change): void {
    const step = { now: this.now(), weight: this.replicas, isShared: false }
    for (const [name, { text, known, lifetime }] of change.run((each) => this.#known.get(each), step)) {
      if (text !== known) this.#known.set(name, text, lifetime)
    }
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
