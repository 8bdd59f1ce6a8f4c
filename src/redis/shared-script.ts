/**
 * What replicas share beside answers: attempts, revocations, counters. All under one hash tag, so that a script finds its
 * keys on one node of a Redis Cluster. Names and addresses stand there as digests: a name may be a mistyped password.
 */
import { createHash, createHmac } from 'node:crypto'
import type { RedisConnection } from './connection.ts'

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

export type PrepareScript = (lua: string) => RunScript

/**
 * Scripts over keys of this kind, each within `time` milliseconds; they reject where Redis is away or slower. A full
 * Redis runs them too: what is shared here is small, and a revocation must not wait for room.
 */
export function scriptsOver(link: () => RedisConnection | undefined, time: number): PrepareScript {
  return (text) => {
    const lua = `#!lua flags=allow-oom\n${text}`
    const script = { lua, sha: createHash('sha1').update(lua).digest('hex') }
    return async (keys, args) => {
      const named = keys.map((key) => SHARED + key)
      const reply = await link()?.runScript<unknown>(script, named, args, time)
      if (!reply?.ok) throw new Error(reply?.error ?? 'not connected')
      return reply.value
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
