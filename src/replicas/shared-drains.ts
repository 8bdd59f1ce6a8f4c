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
import { oneRunAtATime } from './one-run-at-a-time.ts'
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

/** Must be called before the replica starts. */
export function createSharedDrains(options: SharedDrainsOptions): SharedDrains {
  const { replica, onChange, log } = options
  const { commands, times } = replica
  let known = NO_DRAINS
  let isForeignReported = false
  let timer: NodeJS.Timeout | undefined

  const run = <Value>(command: typeof READ, args: readonly string[]) =>
    commands.runScript<Value>(command, [redisKeys.drains], args, times.commandTimeout)

  function take(state: DrainState): void {
    if (formatDrainState(state) === formatDrainState(known)) return
    known = state
    onChange(state)
  }

  /** Takes a newer state from Redis. Returns the text there; `undefined`: Redis is unreachable. */
  async function read(): Promise<{ readonly text: string; readonly isOlder: boolean } | undefined> {
    const reply = await run<string>(READ, [])
    if (!reply.ok && !isWrongType(reply)) return undefined
    const text = reply.ok ? reply.value : ''
    const state = text === '' ? NO_DRAINS : parseDrainState(text)
    if (state === undefined && !isForeignReported)
      log('warn', 'the drained nodes in Redis are not valid: the known ones stay in use')
    isForeignReported = state === undefined
    const isOlder = state === undefined || state.revision < known.revision
    if (!isOlder) take(state)
    return { text, isOlder }
  }

  function replace(text: string, state: DrainState): ReturnType<typeof run<number>> {
    return run<number>(REPLACE, [text, formatDrainState(state), redisChannels.drains])
  }

  /** Reads once more if a message arrived during a read. */
  const refresh = oneRunAtATime(async () => {
    const found = await read()
    if (found?.isOlder && known.revision > 0) await replace(found.text, known)
  })

  replica.subscribe(redisChannels.drains, () => void refresh())
  commands.onReady(() => void refresh())
  return {
    update: async (change) => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const found = await read()
        if (found === undefined) return undefined
        const next = change(known)
        if (next === known) return known
        const reply = await replace(found.text, next)
        if (!reply.ok) return undefined
        if (reply.value === 1) {
          take(next)
          return next
        }
      }
      return undefined
    },
    start: async () => {
      await replica.start()
      await refresh()
      timer = setInterval(() => void refresh(), INTERVAL_MS).unref()
    },
    stop: () => clearInterval(timer),
  }
}
