/** Which rights of the edge the ACL of Redis denies: tries every command on keys that nothing else uses. */

import { CHANNEL, commandsOfRights } from './commands.ts'
import type { RedisConnection } from './connection.ts'
import { DEFAULT_TIMES } from './options.ts'

export interface DeniedRights {
  /** Names as an ACL writes them, such as `hset` and `cluster|slots`. */
  readonly commands: readonly string[]
  /** Whether keys of the edge are denied. */
  readonly keys: boolean
  /** Whether channels of the edge are denied. */
  readonly channels: boolean
}

const DENIED_COMMAND = /^NOPERM.*(?:run the|'[\w|]+' command)/
const DENIED_CHANNEL = /^NOPERM.*channel/

/** Returns undefined if nothing is denied, or if Redis cannot be reached. The connection ends as a subscriber. */
export async function findDeniedRights(
  connection: RedisConnection,
  isCluster: boolean,
): Promise<DeniedRights | undefined> {
  const commands = new Set<string>()
  let [keys, channels] = [false, false]
  const record = (name: string, reply: { readonly ok: boolean; readonly error?: string }): void => {
    const { error = '' } = reply
    if (DENIED_COMMAND.test(error)) commands.add(name)
    else if (DENIED_CHANNEL.test(error)) channels = true
    else if (error.startsWith('NOPERM')) keys = true
  }
  for (const [name, ...args] of commandsOfRights(isCluster)) {
    const reply = await connection.send(DEFAULT_TIMES.bulkTimeout, (client) => client.call(name, ...args))
    record(name === 'cluster' ? `cluster|${args[0]}` : name, reply)
  }
  const { bulkTimeout } = DEFAULT_TIMES
  record('subscribe', await connection.send(bulkTimeout, (client) => client.subscribe(CHANNEL)))
  record('unsubscribe', await connection.send(bulkTimeout, (client) => client.unsubscribe(CHANNEL)))
  const isDenied = commands.size > 0 || keys || channels
  return isDenied ? { commands: [...commands], keys, channels } : undefined
}
