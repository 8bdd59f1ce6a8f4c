/**
 * The drained nodes of all replicas: one value without a time to live in Redis. A replica reads it when it starts, after
 * each change, with each new connection and every two seconds. The value in use stays in use while Redis is unreachable. If
 * Redis has lost it, or has an older one after a fail-over, a replica writes it back.
 */

import {
  type DrainState,
  formatDrainState,
  MAX_DRAIN_STATE_BYTES,
  NO_DRAINS,
  parseDrainState,
  type SharedDrains,
} from '../core/drains.ts'
import type { Log } from '../core/events.ts'
import { oneRunAtATime } from '../core/one-run-at-a-time.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { script } from './scripts.ts'
import { isWrongType } from './wrong-types.ts'

interface SharedDrainsOptions {
  readonly replica: RedisReplica
  /** Called with each newer state. */
  readonly onChange: (state: DrainState) => void
  readonly log: Log
}

/** The value; an empty text if there is none, or another program has written a value of another type or length. */
const VALUE = `
local function read()
  local value = redis.pcall('GET', KEYS[1])
  return type(value) == 'string' and #value <= ${MAX_DRAIN_STATE_BYTES} and value or ''
end`

/** Fails if the value has another type, so that it is reported. */
const READ = script(VALUE, "redis.call('GET', KEYS[1])\nreturn read()")

/** Replaces the value if it is still the expected one. Returns 1 if it was. KEYS: value. ARGV: expected, new, channel. */
const REPLACE = script(
  VALUE,
  `
if read() ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('PUBLISH', ARGV[3], '')
return 1`,
)

const INTERVAL_MS = 2000
/** Another replica may change the state between the read and the change of this one. */
const MAX_ATTEMPTS = 10

/** Must be created before the replica starts. */
export class RedisDrains implements SharedDrains {
  readonly #options: SharedDrainsOptions
  #known = NO_DRAINS
  #isForeignReported = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: SharedDrainsOptions) {
    this.#options = options
    const { replica } = options
    replica.subscribe(redisChannels.drains, () => void this.#refresh())
    replica.commands.onReady(() => void this.#refresh())
  }

  async update(change: (state: DrainState) => DrainState): Promise<DrainState | undefined> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const found = await this.#read()
      if (found === undefined) return undefined
      const next = change(this.#known)
      if (next === this.#known) return next
      const reply = await this.#replace(found.text, next)
      if (!reply.ok) return undefined
      if (reply.value === 1) {
        this.#take(next)
        return next
      }
    }
    return undefined
  }

  async start(): Promise<void> {
    await this.#options.replica.start()
    await this.#refresh()
    this.#timer = setInterval(() => void this.#refresh(), INTERVAL_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Reads once more if a message arrived during a read. */
  readonly #refresh = oneRunAtATime(async () => {
    const found = await this.#read()
    if (found?.isOlder && this.#known.revision > 0) await this.#replace(found.text, this.#known)
  })

  /** Takes a newer state from Redis. Returns the text there; `undefined`: Redis is unreachable. */
  async #read(): Promise<{ readonly text: string; readonly isOlder: boolean } | undefined> {
    const reply = await this.#run<string>(READ, [])
    if (!reply.ok && !isWrongType(reply)) return undefined
    const text = reply.ok ? reply.value : ''
    const state = text === '' ? NO_DRAINS : parseDrainState(text)
    if (state === undefined && !this.#isForeignReported)
      this.#options.log('warn', 'the drained nodes in Redis are not valid: the known ones stay in use')
    this.#isForeignReported = state === undefined
    const isOlder = state === undefined || state.revision < this.#known.revision
    if (!isOlder) this.#take(state)
    return { text, isOlder }
  }

  #replace(text: string, state: DrainState) {
    return this.#run<number>(REPLACE, [text, formatDrainState(state), redisChannels.drains])
  }

  #run<Value>(command: typeof READ, args: readonly string[]) {
    const { commands, times } = this.#options.replica
    return commands.runScript<Value>(command, [redisKeys.drains], args, times.commandTimeout)
  }

  #take(state: DrainState): void {
    if (formatDrainState(state) === formatDrainState(this.#known)) return
    this.#known = state
    this.#options.onChange(state)
  }
}
