/** An index in Redis as it stands after many fills: written at once, since so many fills would take minutes. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { redisKeys } from '../../../../src/redis/options.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { markOf, type Store } from './contract.ts'

const GROUP = 'agents'
const AT_ONCE = 1000
const LIFE = 3_600_000
/** So many end in the same millisecond, as a busy fill leaves them. */
const MANY_AT_ONCE = 1000

/** Each row has a tag of its own, as those of agents do. The epochs are those of tags that nobody raised. */
export async function writeRows(redis: RedisServer, store: Store, count: number): Promise<void> {
  const codec = createEntryCodec()
  const shared = ['cache', `cache:${GROUP}`]
  const { generation, epochs } = await markOf(store, 'none', [...shared, 'agent:none'])
  const [byEnd, rows, hits] = redisKeys.index(GROUP)
  const ends = Date.now() + LIFE - count
  const socket = connect(redis.port, '127.0.0.1')
  socket.write(command('SADD', redisKeys.groups, GROUP))
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, at) => {
      const id = String(from + at).padStart(6, '0')
      const tags = [...shared, `agent:${id}`]
      const listed = { url: `/agents/${id}`, group: GROUP, endpoint: '/agents/:agent_id', scope: 'everyone', tags }
      const head = { listed, generation, epochs, whole: LIFE, size: 1 + ((from + at) % 999), cost: 200 }
      const key = `key-${id}`.padEnd(43, '0')
      return {
        key,
        row: codec.encode(`row:${key}`, head, Buffer.alloc(0)),
        ends: String(ends + from + at - (at % MANY_AT_ONCE)),
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

/** As Redis reads it. Clients need several times as long for commands of so many words. */
function command(...words: readonly (string | Buffer)[]): Buffer {
  const parts = words.flatMap((word) => [Buffer.from(`$${Buffer.byteLength(word)}\r\n`), Buffer.from(word), END])
  return Buffer.concat([Buffer.from(`*${words.length}\r\n`), ...parts])
}

const END = Buffer.from('\r\n')
