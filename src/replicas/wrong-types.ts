/**
 * Keys that hold a value of another type than the edge writes, because another program has replaced them: all commands on
 * them fail (WRONGTYPE). The data of the edge are lost, so the keys of such a command are deleted. That equals a flush of these
 * keys, which the edge expects at any moment: entries are misses, counts begin again, replicas write the revocations that they
 * know, and the loss of the epochs makes a new generation.
 */
import type { RedisConnection } from './connection.ts'
import type { OnStoreEvent } from './options.ts'

/** Repairs within this time are one incident, with one event. */
const INCIDENT_MS = 60_000

interface WrongTypesOptions {
  readonly connection: Pick<RedisConnection, 'send'>
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
    const reply = await connection.send(timeout, (client) => client.unlink(...keys))
    this.#running.delete(names)
    if (!reply.ok || elapsed() - this.#reportedAt < INCIDENT_MS) return
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
