/** Which rights of the edge the ACL of Redis denies: tries every command on keys that nothing else uses. */
import { randomUUID } from 'node:crypto'
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

type Words = readonly [command: string, ...args: string[]]

const CHANNEL = 'edge:check'
const EXPIRES_MS = '10000'

/** Every command of the edge that an ACL can deny, as the edge calls it. `select`: only the database 0, which is selected. */
export function commandsOfRights(isCluster: boolean): readonly Words[] {
  const key = (type: string) => `edge:{check-${type}}:${randomUUID()}`
  const [text, fields, members, scores] = [key('text'), key('hash'), key('set'), key('sorted')]
  // Keys expire, even if the user may not delete them.
  const expire = (name: string): Words => ['pexpire', name, EXPIRES_MS]
  return [
    ['info', 'server'],
    ['time'],
    ['select', '0'],
    ['set', text, '1', 'PX', EXPIRES_MS],
    ...(['get', 'exists', 'pttl', 'del'] as const).map((name): Words => [name, text]),
    ['incrby', text, '1'],
    expire(text),
    ['hset', fields, 'field', '1'],
    expire(fields),
    ['hincrby', fields, 'field', '1'],
    ...(['hget', 'hmget', 'hexists', 'hdel'] as const).map((name): Words => [name, fields, 'field']),
    ['sadd', members, 'member'],
    expire(members),
    ['smembers', members],
    ['zadd', scores, '1', 'member'],
    expire(scores),
    ['zcard', scores],
    ['zrange', scores, '0', '-1'],
    ['zrangebyscore', scores, '0', '1'],
    ['zrem', scores, 'member'],
    ['zremrangebyscore', scores, '0', '1'],
    ['eval', 'return 1', '1', text],
    // Redis does not have this script. It checks the right before.
    ['evalsha', '0'.repeat(40), '1', text],
    ...[text, fields, members, scores].map((name): Words => ['unlink', name]),
    ['publish', CHANNEL, 'check'],
    ...(isCluster ? ([['cluster', 'info'], ['cluster', 'slots'], ['asking']] as const) : []),
  ]
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
