/**
 * Writes stored responses to Redis directly, as an edge writes them: a million misses would take minutes. The keys are
 * those of the edge, and the head is that of a response that the edge has stored, with another URL.
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createTargetResolver } from '../../../src/cache/key.ts'
import { createEntryCodec } from '../../../src/cache/stores/entry-codec.ts'
import { redisKeys } from '../../../src/replicas/options.ts'
import { edgeRequest } from '../../support/edge-requests.ts'
import type { RedisServer } from '../../support/redis.ts'
import { BODY_BYTES, bodyOf } from './agents.ts'

/** The secret of keys without an encryption key (`src/app/cache.ts`). */
const SECRET = 'manager-edge'
const GROUP = 'agents'
const BATCH = 500
const LIFETIME_MS = 3_600_000
const NO_BODY = Buffer.alloc(0)

interface StoredHead {
  readonly listed: { readonly url: string }
  readonly generation: string
  readonly epochs: readonly string[]
}

/**
 * Stores the entries from 0 to `count`. The edge must have stored entry 0. Throws if its key is not the computed one, or
 * if Redis rejects a command.
 */
export async function fillRedis(redis: RedisServer, count: number): Promise<void> {
  const codec = createEntryCodec()
  const keyOf = createKeys()
  const client = redis.client()
  const first = redisKeys.entry(keyOf(0))
  const stored = await codec.decode(first, (await client.getBuffer(first)) ?? NO_BODY)
  if (stored === undefined) throw new Error('the edge has not stored entry 0 under the computed key')
  const left = await client.pttl(first)
  const head = stored.head as StoredHead
  const { generation, epochs } = head
  const ends = Date.now() + LIFETIME_MS
  const [byEnd, rows, hits] = redisKeys.index(GROUP)
  const socket = connect(redis.port, '127.0.0.1')
  const refused = collectErrors(socket)
  for (let from = 1; from < count; from += BATCH) {
    const length = Math.min(BATCH, count - from)
    const encodeEntry = async (_: unknown, at: number) => {
      const listed = { ...head.listed, url: head.listed.url.replace('offset=0', `offset=${from + at}`) }
      const key = keyOf(from + at)
      const row = { listed, generation, epochs, whole: LIFETIME_MS, size: BODY_BYTES, cost: 10 }
      const name = redisKeys.entry(key)
      const entry = (await codec.encode(name, { ...head, listed }, Buffer.from(bodyOf(from + at)))).toString('latin1')
      const encodedRow = codec.encodeHead(`row:${key}`, row).toString('latin1')
      return { key, name, entry, row: encodedRow, ends: String(ends + from + at) }
    }
    const some = await Promise.all(Array.from({ length }, encodeEntry))
    const commands = [
      ...some.map(({ name, entry }) => encode('SET', name, entry, 'PX', String(left))),
      encode('ZADD', byEnd, ...some.flatMap((each) => [each.ends, each.key])),
      encode('HSET', rows, ...some.flatMap(({ key, row }) => [key, row])),
      encode('HSET', hits, ...some.flatMap(({ key }) => [key, '0'])),
    ]
    if (!socket.write(commands.join(''), 'latin1')) await once(socket, 'drain')
  }
  for (const name of [byEnd, rows, hits]) socket.write(encode('PEXPIRE', name, String(2 * LIFETIME_MS)))
  socket.write(encode('QUIT'))
  await once(socket, 'close')
  if (refused.length > 0) throw new Error(refused[0])
}

/** Returns the function from the number of an entry to its key, as the edge computes it. */
function createKeys(): (entry: number) => string {
  const key = { secret: SECRET, policy: '' }
  const resolve = createTargetResolver({
    key: () => key,
    nodes: () => [{ name: 'master' }],
    lifetimesOf: () => ({ ttl: LIFETIME_MS, staleWhileRevalidate: 'automatic', staleIfError: 0 }),
  })
  const request = edgeRequest('GET /agents')
  return (entry) => {
    const target = resolve({ ...request, query: { limit: '1', offset: String(entry) } })
    if (typeof target === 'string') throw new Error(target)
    return target.key
  }
}

function collectErrors(socket: Socket): string[] {
  const errors: string[] = []
  socket.on('data', (replies) => void errors.push(...(replies.toString().match(/^-.*/gm) ?? [])))
  return errors
}

/** Encodes a command as text of one byte per character: client libraries take several times as long for a million. */
function encode(...words: readonly string[]): string {
  let text = `*${words.length}\r\n`
  for (const word of words) text += `$${word.length}\r\n${word}\r\n`
  return text
}
