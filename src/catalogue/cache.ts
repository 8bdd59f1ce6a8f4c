import type { Endpoint, Param } from './endpoint.ts'
import { read, write } from './record.ts'
import { filter, hiddenSearch, limit, offset, sort } from './schemas/params.ts'
import { objectOf } from './schemas/responses.ts'

/**
 * Records of the cache of the edge, under the paths of the manager's own cache. Additional options are marked
 * `beyondSeed`.
 */

const section = 'Cache'
const minimal = 'the number of stored responses, {all: Number, groups: {name: Number}}'
const reading = {
  section,
  permission: 'cache:read-own',
  strictQuery: false,
  cache: { never: 'describes the cache itself' },
} as const

const beyond = (param: Param): Param => ({ ...param, beyondSeed: true })
const details: Param = {
  ...beyond(filter('boolean', 'a collection of entries with age, time left, size, hits, fetch time, tags and scope')),
  default: false,
  note: 'times in milliseconds, sizes in bytes',
}
const preview: Param = {
  ...beyond(filter('boolean', 'only report what would be removed')),
  default: false,
  note: 'returns {entries, bytes, seconds, neverStale}: the manager time that fetching the entries again would take, and the number and URLs of entries that a soft purge makes the next request wait for',
}
const soft: Param = {
  ...beyond(filter('boolean', 'mark as stale instead of removing')),
  default: false,
  note: 'stale entries are served once more, marked as stale, while they are refreshed',
}
const purging = {
  section,
  permission: 'cache:purge',
  strictQuery: false,
  response: { ...objectOf('CachePurge'), accepted: 'Redis is unreachable: the purge is carried out when it is back' },
  minimal,
  invalidates: [],
  invalidatesNothingBecause: 'removes stored responses; no data changes',
} as const

export const cache: readonly Endpoint[] = [
  read('/cache', 'Cache index', {
    ...reading,
    query: {
      offset: beyond(offset),
      limit: beyond(limit),
      sort: beyond(sort),
      search: hiddenSearch,
      details,
      group: beyond(filter('alphanumeric', 'cache group')),
      tag: beyond(filter('alphanumeric', 'tag, such as agent:001')),
      endpoint: beyond(filter('paths', 'path of an endpoint, such as /agents/:agent_id')),
    },
    target: { kind: 'edge', operation: 'cacheIndex' },
    response: objectOf('CacheListing'),
    minimal,
  }),
  write('DELETE', '/cache', 'Clear the cache', {
    ...purging,
    query: {
      key: beyond(filter('array_names', 'keys of the entries to clear, separated by commas')),
      endpoint: beyond(filter('paths', 'path of the endpoint to clear, such as /agents/:agent_id')),
      tag: beyond(filter('tag', 'tag to clear, such as agent:001')),
      preview,
      soft,
    },
    target: { kind: 'edge', operation: 'cacheClear' },
  }),
  write('DELETE', '/cache/:group', 'Clear one group of the cache', {
    ...purging,
    query: { preview, soft },
    params: { group: { ...filter('alphanumeric', 'cache group'), note: 'an unknown group has no effect' } },
    target: { kind: 'edge', operation: 'cacheClearGroup' },
  }),
  read('/cache/config', 'Cache configuration', {
    ...reading,
    target: { kind: 'edge', operation: 'cacheConfig' },
    response: objectOf('CacheConfiguration'),
  }),
  read('/cache/explain', 'Whether the next request of a URL would hit, and why', {
    ...reading,
    query: { url: { ...filter('url', 'path and query of a GET'), required: 604 } },
    target: { kind: 'edge', operation: 'cacheExplain' },
    response: objectOf('CacheExplanation'),
    beyondSeed: true,
  }),
]
