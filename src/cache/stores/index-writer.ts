/** Adds rows to the index in Redis, those of one group and one turn of the event loop with one command. */

import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { NOW, script } from '../../replicas/scripts.ts'
import { InFlightMap } from '../in-flight-map.ts'

/**
 * Adds rows and removes up to 128 that have expired. KEYS (of one group): keys by expiry, rows, hits. ARGV: key, row, and
 * milliseconds until it expires, of each. The three keys expire with their last row.
 */
const ADD_ROWS = script(
  NOW,
  `
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 128)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('HDEL', KEYS[2], unpack(old))
  redis.call('HDEL', KEYS[3], unpack(old))
end
local expiries, rows, hits, longest = {}, {}, {}, 0
for at = 1, #ARGV, 3 do
  local key, left = ARGV[at], tonumber(ARGV[at + 2])
  expiries[#expiries + 1] = now + left
  expiries[#expiries + 1] = key
  rows[#rows + 1] = key
  rows[#rows + 1] = ARGV[at + 1]
  hits[#hits + 1] = key
  hits[#hits + 1] = 0
  longest = math.max(longest, left)
end
redis.call('ZADD', KEYS[1], unpack(expiries))
redis.call('HSET', KEYS[2], unpack(rows))
redis.call('HSET', KEYS[3], unpack(hits))
for at = 1, 3 do
  if redis.call('PTTL', KEYS[at]) < longest then redis.call('PEXPIRE', KEYS[at], longest) end
end
return 1`,
)

const ROWS_PER_COMMAND = 64

/** `left`: milliseconds until the row expires. */
type NewRow = readonly [key: string, row: Buffer, left: number]

/** The rows of one command. `written`: when Redis has them. */
interface RowsBatch {
  readonly rows: NewRow[]
  readonly written: Promise<unknown>
}

export class IndexWriter {
  readonly #replica: RedisReplica
  /** The batches to which rows of this turn are added, by group. */
  readonly #unsent = new InFlightMap<RowsBatch>()

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  /** Resolves when Redis has the row, or after the time limit of the command. */
  add(group: string, row: NewRow): Promise<unknown> {
    let batch = this.#unsent.get(group)
    if (batch === undefined || batch.rows.length === ROWS_PER_COMMAND) {
      const { bodies, times, turnEnd } = this.#replica
      const rows: NewRow[] = []
      const written = turnEnd.add(() => {
        this.#unsent.delete(group)
        return bodies.runScript(ADD_ROWS, redisKeys.index(group), rows.flat(), times.bulkTimeout)
      })
      batch = { rows, written }
      this.#unsent.set(group, batch)
    }
    batch.rows.push(row)
    return batch.written
  }
}
