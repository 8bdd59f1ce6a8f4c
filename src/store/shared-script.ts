/**
 * What replicas share beside answers: attempts, revocations, counters. All under one hash tag, so that a script finds its
 * keys on one node of a Redis Cluster. Names and addresses stand there as digests: a name may be a mistyped password.
 */
import { createHash, createHmac } from 'node:crypto'
import type { Cluster, Redis } from 'ioredis'

export type SharedClient = Redis | Cluster

/** Prefix of every key of this kind; `edge:` is what the ACL user may touch. */
export const SHARED = 'edge:{a}:'

/** The commands that sharing uses: those that run scripts, and those inside them. */
export const sharedCommands = [
  'del',
  'eval',
  'evalsha',
  'exists',
  'get',
  'hdel',
  'hget',
  'hset',
  'incrby',
  'pexpire',
  'pttl',
  'set',
  'time',
  'zadd',
  'zcard',
  'zrange',
  'zrem',
  'zremrangebyscore',
] as const

export type RunScript = (keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>

/** A script by its digest; sent whole only to a server that does not know it (after a restart or a fail-over). Rejects where Redis does. */
export function sharedScript(client: SharedClient, lua: string): RunScript {
  const digest = createHash('sha1').update(lua).digest('hex')
  return async (keys, args) => {
    const rest = [...keys.map((key) => SHARED + key), ...args]
    try {
      return await client.evalsha(digest, keys.length, ...rest)
    } catch (fault) {
      if (!(fault instanceof Error) || !fault.message.startsWith('NOSCRIPT')) throw fault
      return client.eval(lua, keys.length, ...rest)
    }
  }
}

export type Digest = (...parts: readonly string[]) => string

/** 128 bits of a keyed digest; without a key, of one that anybody can make. Lengths stand in front of the parts. */
export function digestWith(key: Buffer | undefined): Digest {
  return (...parts) => {
    const hmac = createHmac('sha256', key ?? 'manager-edge')
    for (const part of parts) hmac.update(`${Buffer.byteLength(part)}:${part}`)
    return hmac.digest('base64url').slice(0, 22)
  }
}
