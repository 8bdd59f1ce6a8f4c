/** The commands that the edge and its earlier versions send to Redis: during a rollout they have the same user. */
import { randomUUID } from 'node:crypto'

type Words = readonly [command: string, ...args: string[]]

export const CHANNEL = 'edge:check'
const EXPIRES_MS = '10000'

/** Every such command that an ACL can deny, as the edge calls it. `select`: only the database 0, which is selected. */
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
