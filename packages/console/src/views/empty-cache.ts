/** Why the cache view shows no entries. */
import type { Now } from '../../server/api-types.ts'
import { formatCount, formatDuration } from '../format.ts'

export interface EmptyCache {
  /** Absent until the first response of the edge. */
  readonly now:
    | (Pick<Now, 'cache'> & {
        readonly edge: Pick<Now['edge'], 'uptime'>
        readonly totals: Pick<Now['totals'], 'cacheable'>
      })
    | undefined
  /** Number of entries that are stored, matching or not. */
  readonly all: number
  readonly hasFilter: boolean
}

export function describeEmptyCache({ now, all, hasFilter }: EmptyCache): string {
  if (now?.cache.enabled === false) return 'The cache is off (cache.enabled: false). This replica stores nothing.'
  if (now?.cache.unreachable === true) {
    return 'Redis is unreachable, so its entries cannot be listed. Requests go to the nodes until Redis is reachable again.'
  }
  if (hasFilter && all > 0) return `No entry matches the search. ${formatCount(all)} entries are stored.`
  if (now?.totals.cacheable === 0) {
    const uptime = formatDuration(Math.floor(now.edge.uptime / 1000) * 1000)
    return `Nothing is stored. No client has sent a cacheable request since this replica started ${uptime} ago.`
  }
  return 'Nothing is stored now. Stored responses are removed after their TTL and stale times, or by a purge. The next requests of clients store responses again.'
}
