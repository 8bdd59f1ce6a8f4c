/** The commands of Redis that the edge uses: what the ACL user of docs/redis.md is allowed. */

/** Every command that the store sends and that its scripts call: what the ACL of its Redis user must allow. */
export const STORE_COMMANDS: readonly string[] = [
  // Sent
  'evalsha',
  'eval',
  'get',
  'pttl',
  'set',
  'unlink',
  'publish',
  'subscribe',
  'unsubscribe',
  // Called by scripts
  'time',
  'info',
  'hget',
  'hmget',
  'hset',
  'hdel',
  'hexists',
  'hincrby',
  'del',
  'pexpire',
  'zadd',
  'zcard',
  'zrem',
  'zrangebyscore',
  // Of the connection
  'hello',
  'auth',
  'select',
  'quit',
  'asking',
  'cluster',
]

/** The commands of the scripts for revocations and counters: what the ACL of the Redis user must allow, besides those of the store. */
export const ACCESS_COMMANDS: readonly string[] = [
  'del',
  'eval',
  'evalsha',
  'get',
  'hdel',
  'hget',
  'hset',
  'publish',
  'set',
  'time',
  'zadd',
  'zrange',
  'zrem',
]

/** Only versions 0.1.0 and 0.2.0 use these: during a rollout and after a rollback, they run with the same Redis user. */
export const EARLIER_COMMANDS: readonly string[] = ['exists', 'incrby', 'sadd', 'smembers', 'zremrangebyscore']
