/** Response schemas of the cache of the edge. */
import { boolean, either, integer, list, map, number, object, ref, type Schema, text } from './schema.ts'

const MS = 'Milliseconds.'
const counts = 'With the header Prefer: return=minimal: numbers instead of URLs.'
const index = object({
  all: list(text(), 'URLs of the stored responses.'),
  groups: map(list(text()), 'URLs by cache group.'),
})
const sizes = object({ all: integer(), groups: map(integer()) }, counts)

const lifetimes = {
  ttlMs: integer('Freshness lifetime in milliseconds after the response has arrived.'),
  staleWhileRevalidateMs: {
    type: ['integer', 'string'],
    description: 'Milliseconds that a response is served stale during a refresh; automatic: by TTL and fetch time.',
  },
  staleIfErrorMs: integer('Milliseconds that a response is served stale while nodes fail.'),
  'staleWhileHotMs?': integer('Milliseconds that it is served stale during a refresh while it is requested often.'),
} satisfies Readonly<Record<string, Schema>>

export const cacheItems = {
  CacheIndex: index,
  CacheCounts: sizes,
  CacheEntry: object({
    key: text(),
    url: text(),
    group: text('Cache group.'),
    endpoint: text('Path of the endpoint.'),
    scope: text('everyone, or a digest of the permissions that the response was fetched for.'),
    tags: list(text()),
    size: integer('Bytes.'),
    age: integer(MS),
    timeLeft: integer('Milliseconds until the response is stale; negative afterwards.'),
    hits: integer(),
    fetchTime: integer('Milliseconds that the fetch took.'),
  }),
  CacheEntries: object({ items: list(ref('CacheEntry')), totalItems: integer() }, 'With details=true.'),
  CachePurgePreview: object(
    {
      entries: integer('Stored responses that would be removed.'),
      bytes: integer('Bytes.'),
      seconds: number('Seconds of manager time that fetching them again would take.'),
      neverStale: object(
        { entries: integer(), urls: list(text(), 'The first 100.') },
        'Entries that a soft purge removes, because they are never served stale.',
      ),
    },
    'With preview=true.',
  ),
  CacheListing: either(ref('CacheIndex'), ref('CacheCounts'), ref('CacheEntries')),
  CachePurge: either(ref('CacheIndex'), ref('CacheCounts'), ref('CachePurgePreview')),
  CacheConfiguration: object({
    debug: boolean('Always false.'),
    defaultDuration: integer('Freshness lifetime, in milliseconds, of groups without one of their own.'),
    enabled: boolean(),
    appendKey: list(text(), 'Always empty.'),
    jsonp: boolean('Always false.'),
    redisClient: boolean('Whether Redis stores the responses, so that replicas share them.'),
    'groups?': map(object(lifetimes), 'The lifetimes that apply, by cache group. A field of the edge.'),
    'endpoints?': map(
      object({ group: text('Cache group.'), ...lifetimes }),
      'The lifetimes that apply, by path of the endpoint. A field of the edge.',
    ),
  }),
  CacheExplanation: object({
    'endpoint?': text('Method and path of the endpoint.'),
    cacheable: boolean('Whether responses of the endpoint are stored.'),
    'reason?': text('Why the response is never stored.'),
    'url?': text('The URL of the entry in the cache index.'),
    'key?': text(),
    'group?': text('Cache group.'),
    'scope?': text('everyone, or a digest of permissions.'),
    'tags?': list(text()),
    'next?': object({ hit: boolean(), reason: text(), 'age?': number(MS), 'timeLeft?': number(MS) }),
    'invalidatedBy?': list(object({ write: text('Method and path.'), tags: list(text()), 'when?': list(text()) })),
  }),
} as const
