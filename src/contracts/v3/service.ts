/**
 * Records of the service itself: welcome, version, summary of all agents, the tokens of the edge, and its cache under the paths
 * of the manager's own one. Additional options of the cache are marked `beyondSeed`.
 */
import type { Param, V3Endpoint } from '../endpoint.ts'
import { read, write } from '../record.ts'
import { filter, hiddenSearch, limit, offset, sort } from '../schemas/params.ts'
import { anyNode, cacheIn, master, masterItself, memberships, objectOf, textOf } from '../schemas/shared.ts'

const common = { permission: 'signedIn', beyondSeed: true } as const

const description = {
  response: { data: 'document', schema: 'OpenApiDocument' },
  cache: { never: 'part of the edge: revalidated by its entity tag' },
} as const

export const service: readonly V3Endpoint[] = [
  read('/', 'Welcome', {
    ...common,
    target: masterItself,
    response: objectOf('Welcome'),
    cache: { never: 'contains the time of the response' },
  }),
  read('/version', 'Version of the API', {
    ...common,
    target: anyNode,
    response: textOf('Version'),
    cache: cacheIn('manager', 'cluster'),
    priority: 'health',
  }),
  read('/openapi.json', 'The description of this API (OpenAPI 3.1)', {
    ...common,
    ...description,
    target: { kind: 'edge', operation: 'describeApi' },
  }),
  read('/openapi-v4.json', 'The description of the API for clients of releases 4.x (OpenAPI 3.1)', {
    ...common,
    ...description,
    target: { kind: 'edge', operation: 'describeV4Api' },
  }),
]

export const summary: readonly V3Endpoint[] = [
  read('/summary/agents', 'Summary of all agents', {
    permission: 'summary:read',
    target: master,
    response: objectOf('Summary'),
    cache: cacheIn('summary', ...memberships),
  }),
]

/** The edge issues its own tokens: a request with Basic credentials gets a Bearer token. */
const TOKEN_PATH = '/security/user/authenticate'
const tokenEndpoint = {
  permission: 'signedIn',
  beyondSeed: true,
} as const
const issuing = {
  ...tokenEndpoint,
  target: { kind: 'edge', operation: 'issueToken' },
  response: objectOf('Token'),
} as const
const noData = { invalidates: [], invalidatesNothingBecause: 'tokens are no data of the manager' } as const

export const tokens: readonly V3Endpoint[] = [
  write('POST', TOKEN_PATH, 'Get a token', { ...issuing, ...noData }),
  read(TOKEN_PATH, 'Get a token', { ...issuing, cache: { never: 'a token of the caller' } }),
  write('DELETE', TOKEN_PATH, 'Revoke all tokens of the caller', {
    ...tokenEndpoint,
    target: { kind: 'edge', operation: 'revokeTokens' },
    ...noData,
  }),
]

const minimal = 'the number of stored responses, {all: Number, groups: {name: Number}}'
const reading = {
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
  note: 'returns {entries, bytes, seconds, neverStale}: the manager time that fetching the entries again would take, and the number of entries that a soft purge makes the next request wait for',
}
const soft: Param = {
  ...beyond(filter('boolean', 'mark as stale instead of removing')),
  default: false,
  note: 'stale entries are served once more, marked as stale, while they are refreshed',
}
const purging = {
  permission: 'cache:purge',
  strictQuery: false,
  response: { ...objectOf('CachePurge'), accepted: 'Redis is unreachable: the purge is carried out when it is back' },
  minimal,
  invalidates: [],
  invalidatesNothingBecause: 'removes stored responses; no data changes',
} as const

export const cache: readonly V3Endpoint[] = [
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
