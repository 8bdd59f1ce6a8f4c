/**
 * Keys that hold a value of another type than the edge writes, because another program has replaced them: all commands on
 * them fail (WRONGTYPE). The data of the edge are lost then. Keys of the cache are deleted, which makes them misses. All
 * others are reported until their type is right again: only an administrator knows what their value is good for.
 *
 * The hash of epochs is deleted as well. That equals a flush, which the protocol expects at any moment: the generation is
 * new, so nothing that was stored before is served, running writes set their fences again, and writes wait until all
 * leases that were registered in the lost hash have ended. Without the deletion every write would be rejected.
 */
import type { RedisConnection, RedisReply } from './connection.ts'
import { KEY_RULES, type KeyRule } from './key-rules.ts'
import type { OnStoreEvent } from './options.ts'
import { script } from './scripts.ts'

const RULES = Object.values(KEY_RULES).flat()

/**
 * Finds the keys of a wrong type, in one step with their deletion: meanwhile another replica may have repaired them. If one
 * is wrong, all keys that may be deleted are: they are parts of one index, which is useless without any of them.
 * KEYS: of one failed command. ARGV: for each its type, then for each "delete" or "report". Returns 1 for each wrong key.
 */
const REPAIR = script(`
local probes = { string = { 'GET' }, hash = { 'HGET', '' }, set = { 'SMEMBERS' }, zset = { 'ZRANGE', 0, 0 } }
local wrong, isAnyWrong = {}, false
for at, key in ipairs(KEYS) do
  local probe = probes[ARGV[at]]
  local found = redis.pcall(probe[1], key, unpack(probe, 2))
  local isWrong = type(found) == 'table' and found.err ~= nil and string.find(found.err, 'WRONGTYPE') ~= nil
  wrong[at] = isWrong and 1 or 0
  if isWrong and ARGV[#KEYS + at] == 'delete' then isAnyWrong = true end
end
if isAnyWrong then
  for at, key in ipairs(KEYS) do
    if ARGV[#KEYS + at] == 'delete' then redis.call('UNLINK', key) end
  end
end
return wrong`)

/** More are not named. */
const MAX_REPORTED = 32
/** Repairs of keys with one rule within this time are one incident, with one event. */
const INCIDENT_MS = 60_000

interface WrongTypesOptions {
  readonly connection: Pick<RedisConnection, 'runScript'>
  /** Time limit of the repair in milliseconds. */
  readonly timeout: number
  readonly elapsed: () => number
  /** `wrongType` and `repaired`, with the name of the key. */
  readonly onEvent: OnStoreEvent
}

export class WrongTypes {
  readonly #options: WrongTypesOptions
  readonly #reported = new Set<string>()
  readonly #running = new Set<string>()
  readonly #repairedAt = new Map<KeyRule, number>()

  constructor(options: WrongTypesOptions) {
    this.#options = options
  }

  /** The keys that only an administrator can repair. */
  get keys(): readonly string[] {
    return [...this.#reported]
  }

  /** Takes the error of any command. */
  take(error: unknown): void {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) void this.check(keysOf(error))
  }

  /** Finds out whether reported keys were repaired. */
  recheck(): void {
    for (const key of this.#reported) void this.check([key])
  }

  /** Repairs or reports those of these keys that hold another type. */
  async check(names: readonly string[]): Promise<void> {
    const { connection, timeout } = this.#options
    const id = names.join(' ')
    if (this.#running.has(id)) return
    const found = names.flatMap((key) => {
      const rule = RULES.find(({ matches }) => matches(key))
      return rule === undefined ? [] : [{ key, rule }]
    })
    if (found.length === 0) return
    this.#running.add(id)
    const args = [...found.map(({ rule }) => rule.type), ...found.map(({ rule }) => rule.repair)]
    const keys = found.map(({ key }) => key)
    const reply = await connection.runScript<number[]>(REPAIR, keys, args, timeout)
    this.#running.delete(id)
    if (!reply.ok) return
    for (const [at, { key, rule }] of found.entries()) this.#note(key, rule, reply.value[at] === 1)
  }

  #note(key: string, rule: KeyRule, isWrong: boolean): void {
    const { elapsed, onEvent } = this.#options
    if (!isWrong) this.#reported.delete(key)
    else if (rule.repair === 'report') {
      if (this.#reported.has(key) || this.#reported.size >= MAX_REPORTED) return
      this.#reported.add(key)
      onEvent('wrongType', key)
    } else {
      const before = this.#repairedAt.get(rule) ?? Number.NEGATIVE_INFINITY
      this.#repairedAt.set(rule, elapsed())
      if (elapsed() - before > INCIDENT_MS) onEvent('repaired', key)
    }
  }
}

/** Returns whether a key of the command holds another type of value than the edge writes. */
export function isWrongType(reply: RedisReply<unknown>): boolean {
  return !reply.ok && reply.error.startsWith('WRONGTYPE')
}

/** Returns the keys of the command that failed. ioredis adds it to the error. */
function keysOf(error: Error): readonly string[] {
  const { command } = error as { readonly command?: { readonly name: string; readonly args: readonly unknown[] } }
  if (command === undefined) return []
  const isScript = /^eval/i.test(command.name)
  const keys = isScript ? command.args.slice(2, 2 + Number(command.args[1])) : command.args.slice(0, 1)
  return keys.map(String)
}
