/** Writes an index of many rows to Redis directly, since storing that many responses would take minutes. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { redisKeys } from '../../../../src/replicas/options.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { epochsOf, type Store } from './contract.ts'

const GROUP = 'agents'
const BATCH = 1000
const LIFETIME_MS = 3_600_000
/** Rows with the same expiry, as a busy edge writes them. */
const ROWS_PER_EXPIRY = 1000

/** Each row has its own tag, as those of agents do. The epochs are those of tags that were never invalidated. */
export async function writeRows(redis: RedisServer, store: Store, count: number): Promise<void> {
  const codec = createEntryCodec()
  const shared = ['cache', `cache:${GROUP}`]
  const { generation, epochs } = await epochsOf(store, 'none', [...shared, 'agent:none'])
  const [byEnd, rows, hits] = redisKeys.index(GROUP)
  const ends = Date.now() + LIFETIME_MS - count
  const socket = connect(redis.port, '127.0.0.1')
  for (let from = 0; from < count; from += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => {
      const id = String(from + at).padStart(6, '0')
      const tags = [...shared, `agent:${id}`]
      const listed = { url: `/agents/${id}`, group: GROUP, endpoint: '/agents/:agent_id', scope: 'everyone', tags }
      const head = { listed, generation, epochs, whole: LIFETIME_MS, size: 1 + ((from + at) % 999), cost: 200 }
      const key = `key-${id}`.padEnd(43, '0')
      return {
        key,
        row: codec.encodeHead(`row:${key}`, head),
        ends: String(ends + from + at - (at % ROWS_PER_EXPIRY)),
      }
    })
    socket.write(command('ZADD', byEnd, ...some.flatMap((each) => [each.ends, each.key])))
    socket.write(command('HSET', rows, ...some.flatMap(({ key, row }) => [key, row])))
    if (!socket.write(command('HSET', hits, ...some.flatMap(({ key }) => [key, '0'])))) await once(socket, 'drain')
  }
  socket.write(command('QUIT'))
  const refused: string[] = []
  socket.on('data', (replies) => void refused.push(...(replies.toString().match(/^-.*/gm) ?? [])))
  await once(socket, 'close')
  if (refused.length > 0) throw new Error(refused[0])
}

/** Encodes a command. Client libraries take several times as long for this many arguments. */
function command(...words: readonly (string | Buffer)[]): Buffer {
  const parts = words.flatMap((word) => [Buffer.from(`$${Buffer.byteLength(word)}\r\n`), Buffer.from(word), END])
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts])
}

const END = Buffer.from('\r\n')
