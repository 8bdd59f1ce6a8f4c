import t from 'tap'
import type { StoredResponseInfo } from '../../../src/core/cache.ts'
import { cachedOf, type EnvelopeResponse, STORED_FIELDS, type StoredResponse } from '../../../src/core/response.ts'
import { edgeRequest, lifetimes, replica as readReplica } from '../../support/edge-requests.ts'
import { startRedis } from '../../support/redis.ts'
import { storedResponse } from '../../support/stored-response.ts'

type IsNone<Names> = [Names] extends [never] ? true : false
type Optional<Of> = { [Name in keyof Of]-?: object extends Pick<Of, Name> ? Name : never }[keyof Of]
/** Fields without a form in Redis, fields that a copy may lack, and fields of a response that are not stored with it. */
const undescribed: IsNone<Exclude<keyof StoredResponse, keyof typeof STORED_FIELDS | 'body' | 'forms'>> = true
const optional: IsNone<Optional<StoredResponse>> = true
const unstored: IsNone<Exclude<keyof EnvelopeResponse, keyof StoredResponse | 'kind' | 'origin'>> = true

// Fields that no module names: only forms that follow the description have them.
const added = { addedNumber: 4.5, addedText: 'added' }
Object.assign(STORED_FIELDS, { addedNumber: 'number', addedText: 'text' })
// After the change: modules may read the description when they are loaded.
const { createMemoryStore } = await import('../../../src/cache/stores/memory-store.ts')
const { epochsOf, TAGS } = await import('./stores/contract.ts')
const { replica } = await import('./stores/replicas.ts')

const values: object = {
  contentType: 'application/problem+json',
  ...{ status: 404, errorNumber: 1701, etag: '"other"', clusterStatus: 'm;rows=1', rowBytes: 3 },
  ...{
    ttl: 21_000,
    staleWhileRevalidate: 5001,
    staleIfError: 10_001,
    staleInOutage: 20_001,
    staleWhileHot: 2001,
    fetchTime: 8,
  },
  ...added,
}
const response: StoredResponse = storedResponse('body', values)
const info: StoredResponseInfo = { url: '/agents', group: 'agents', endpoint: '/agents', scope: 'everyone', tags: TAGS }

function fieldsOf(stored: StoredResponse | undefined): object {
  return Object.fromEntries(Object.keys(STORED_FIELDS).map((name) => [name, Reflect.get(stored ?? {}, name)]))
}

const redis = await startRedis()
t.teardown(() => redis.close())

t.test('every field has a form in Redis, is required, and returns to the response', async (t) => {
  t.ok(undescribed && optional && unstored)
  t.strictSame(
    fieldsOf(response),
    Object.fromEntries(Object.keys(STORED_FIELDS).map((name) => [name, Reflect.get(values, name)])),
    'the test has a value for each',
  )
})

for (const place of ['memory', 'local tier', 'Redis'] as const) {
  t.test(`${place}: a lookup returns all fields, also of one that was added`, async (t) => {
    const open = async () => (await replica(t, redis, { localBytes: () => (place === 'Redis' ? 0 : 1 << 20) })).store
    const store = place === 'memory' ? createMemoryStore({ bytes: () => 1 << 20 }) : await open()
    const stored = { key: place, tags: TAGS, info, response }
    await store.store({ ...stored, epochs: await epochsOf(store, place) })
    const found = await store.lookup(place, TAGS)
    t.equal(found.kind === 'hit' && found.isLocal, place !== 'Redis')
    t.strictSame(fieldsOf(found.kind === 'hit' ? found.response : undefined), values)
    await store.purge({ keys: [place], soft: true })
    const stale = await store.lookup(place, TAGS)
    const { ttl, staleWhileRevalidate, staleWhileHot, ...others } = fieldsOf(
      stale.kind === 'hit' ? stale.response : undefined,
    ) as StoredResponse
    t.match({ ...values }, others, 'after a soft purge too')
    t.hasProps(others, Object.keys(added))
  })
}

t.test('a hit has all fields, and is the response that was stored', async (t) => {
  const { store, cache, read } = readReplica()
  const request = edgeRequest('GET /agents')
  const target = cache.explained.resolveTarget(request)
  if (typeof target === 'string') throw new Error(target)
  const { key, tags } = target
  await store.store({
    ...target,
    epochs: await epochsOf(store as never, key, tags),
    response: { ...response, ttl: lifetimes.ttl },
  })
  const hit = await read(request)
  if (hit.kind === 'file') throw new Error('a file')
  t.match(hit, { status: 404, errorNumber: 1701, body: response.body })
  t.strictSame(fieldsOf(cachedOf(hit)?.response), { ...values, ttl: lifetimes.ttl })
})
