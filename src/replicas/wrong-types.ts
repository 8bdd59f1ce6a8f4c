/**
 * Keys that hold a value of another type than the edge writes, because another program has replaced them: all commands on
 * them fail (WRONGTYPE). The data of the edge are lost, so the keys of such a command are deleted. That equals a flush of these
 * keys, which the edge expects at any moment: entries are misses, counts begin again, replicas write the revocations that they
 * know, and the loss of the epochs makes a new generation.
 */
import type { RedisConnection } from './connection.ts'
import { type OnStoreEvent, redisKeys } from './options.ts'
import { script } from './scripts.ts'

const { access, descriptions } = redisKeys
const HASHES = [redisKeys.epochs, access('facts'), descriptions[1]]
const SORTED_SETS = [access('revoked'), access('ends'), descriptions[0]]

/**
 * Deletes all keys of a failed command if one of them has a wrong type. In one step: another replica may have deleted and written
 * them since. KEYS. ARGV: for each the name of a command that fails for a value of another type. Returns the number deleted.
 */
const DELETE_WRONG = script(`
for at, key in ipairs(KEYS) do
  local found = ARGV[at] == 'HGET' and redis.pcall('HGET', key, '') or redis.pcall(ARGV[at], key)
  if type(found) == 'table' and found.err and string.find(found.err, 'WRONGTYPE') then
    return redis.call('UNLINK', unpack(KEYS))
  end
end
return 0`)

/** Repairs within this time are one incident, with one event. */
const INCIDENT_MS = 60_000

interface WrongTypesOptions {
  readonly connection: Pick<RedisConnection, 'runScript'>
  /** Time limit of the repair in milliseconds. */
  readonly timeout: number
  readonly elapsed: () => number
  readonly onEvent: OnStoreEvent
}

export class WrongTypes {
  readonly #options: WrongTypesOptions
  /** The keys that are being deleted, as one text for each command. */
  readonly #running = new Set<string>()
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: WrongTypesOptions) {
    this.#options = options
  }

  /** To be called with the error of any command. */
  async repair(error: unknown): Promise<void> {
    const { connection, timeout, elapsed, onEvent } = this.#options
    const keys = keysOf(error)
    const names = keys.join(' ')
    if (keys.length === 0 || this.#running.has(names)) return
    this.#running.add(names)
    const reply = await connection.runScript<number>(DELETE_WRONG, keys, keys.map(probeOf), timeout)
    this.#running.delete(names)
    if (!reply.ok || reply.value === 0 || elapsed() - this.#reportedAt < INCIDENT_MS) return
    this.#reportedAt = elapsed()
    onEvent('repaired', names)
  }
}

/** Returns the keys of the edge on which a command failed for their type. ioredis adds the command to the error. */
function keysOf(error: unknown): readonly string[] {
  if (!(error instanceof Error && error.message.startsWith('WRONGTYPE'))) return []
  const { command } = error as { readonly command?: { readonly name: string; readonly args: readonly unknown[] } }
  if (command === undefined) return []
  const isScript = /^eval/i.test(command.name)
  const keys = isScript ? command.args.slice(2, 2 + Number(command.args[1])) : command.args.slice(0, 1)
  return keys.map(String).filter((key) => key.startsWith('edge:'))
}

/** Returns a command that fails if the key does not have the type that the edge writes. Most values are texts. */
function probeOf(key: string): 'GET' | 'HGET' | 'ZCARD' {
  if (HASHES.includes(key) || /^edge:i:.*\}:(rows|hits)$/.test(key)) return 'HGET'
  return SORTED_SETS.includes(key) || key.startsWith('edge:i:') ? 'ZCARD' : 'GET'
}
