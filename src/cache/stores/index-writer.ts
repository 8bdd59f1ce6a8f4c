/** Adds rows to the index in Redis: the rows of a group that arrive within 10 ms with one command. */

import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { NOW, script } from '../../replicas/scripts.ts'

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
/** How long rows are collected: a command for each row would cost each miss more CPU time. No client awaits a row. */
const MAX_WAIT_MS = 10

/** `left`: milliseconds until the row expires. */
type NewRow = readonly [key: string, row: Buffer, left: number]

export class IndexWriter {
  readonly #replica: RedisReplica
  /** Rows that are in no command yet, by group. */
  #unsent = new Map<string, NewRow[]>()
  #timer: NodeJS.Timeout | undefined
  /** Resolves when Redis has the rows that were sent so far. */
  #sent: Promise<unknown> = Promise.resolve()

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  add(group: string, row: NewRow): void {
    const rows = this.#unsent.get(group) ?? []
    if (rows.push(row) === 1) this.#unsent.set(group, rows)
    if (rows.length === ROWS_PER_COMMAND) void this.flush()
    else this.#timer ??= setTimeout(() => void this.flush(), MAX_WAIT_MS)
  }

  /**
   * Sends the rows that were added. Resolves when Redis has them and those that were sent before, or after the time limit of the
   * commands.
   */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { bodies, times } = this.#replica
    const batches = [...this.#unsent]
    this.#unsent = new Map()
    const sending = batches.map(([group, rows]) =>
      bodies.runScript(ADD_ROWS, redisKeys.index(group), rows.flat(), times.bulkTimeout),
    )
    this.#sent = Promise.all([this.#sent, ...sending]).then(() => undefined)
    await this.#sent
  }
}
