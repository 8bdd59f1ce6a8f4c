import type { Test } from 'tap'
import t from 'tap'
import type { StoredResponseInfo } from '../../../src/cache/stores/contract.ts'
import { cachedOf } from '../../../src/core/origins.ts'
import type { EnvelopeResponse } from '../../../src/core/response.ts'
import {
  STORED_FIELDS,
  type StoredBytes,
  StoredForms,
  type StoredKind,
  type StoredResponse,
  type StoredSnapshot,
} from '../../../src/core/stored-response.ts'
import { edgeRequest, lifetimes, replica as readReplica } from '../../support/edge-requests.ts'
import { startRedis } from '../../support/redis.ts'

type IsNone<Names> = [Names] extends [never] ? true : false
type Optional<Of> = { [Name in keyof Of]-?: object extends Pick<Of, Name> ? Name : never }[keyof Of]
type Undescribed<Of extends StoredBytes, Kind extends StoredKind> = IsNone<
  Exclude<keyof Of, keyof (typeof STORED_FIELDS)[Kind] | 'kind' | 'body'>
>
/** Fields without a form in Redis, fields that a copy may lack, and fields of a response that are not stored with it. */
const undescribed: readonly true[] = [
  true satisfies Undescribed<StoredBytes, 'bytes'>,
  true satisfies Undescribed<Omit<StoredResponse, 'forms'>, 'response'>,
  true satisfies Undescribed<StoredSnapshot, 'snapshot'>,
]
const optional: IsNone<Optional<StoredResponse> | Optional<StoredSnapshot>> = true
const unstored: IsNone<Exclude<keyof EnvelopeResponse, keyof StoredResponse | 'kind' | 'origin'>> = true

// Fields that no module names: only forms that follow the description have them.
const added = { addedNumber: 4.5, addedText: 'added' }
for (const kind of Object.keys(STORED_FIELDS) as StoredKind[]) {
  Object.assign(STORED_FIELDS[kind], { addedNumber: 'number', addedText: 'text' })
}
// After the change: modules may read the description when they are loaded.
const { createMemoryStore } = await import('../../../src/cache/stores/memory-store.ts')
const { epochsOf, TAGS } = await import('./stores/contract.ts')
const { replica } = await import('./stores/replicas.ts')

const times = {
  ttl: 21_000,
  staleWhileRevalidate: 5001,
  staleIfError: 10_001,
  staleInOutage: 20_001,
  staleWithoutRedis: 15_001,
  staleWhileHot: 2001,
}
const read = { ...times, fetchTime: 8, clusterStatus: 'm;rows=1', ...added }
const valuesOf: Readonly<Record<StoredKind, object>> = {
  bytes: { ...times, ...added },
  response: { ...read, status: 404, errorNumber: 1701, contentType: 'application/problem+json', etag: '"other"' },
  snapshot: { ...read, rowBytes: 3 },
}
const info: StoredResponseInfo = { url: '/agents', group: 'agents', endpoint: '/agents', scope: 'everyone', tags: TAGS }

function storedOf<Of extends StoredBytes>(kind: Of['kind']): Of {
  const forms = kind === 'response' && { forms: new StoredForms() }
  return { kind, body: Buffer.from('body'), ...forms, ...valuesOf[kind] } as unknown as Of
}

function fieldsOf(stored: StoredBytes | undefined): object {
  const names = stored === undefined ? [] : Object.keys(STORED_FIELDS[stored.kind])
  return Object.fromEntries(names.map((name) => [name, Reflect.get(stored ?? {}, name)]))
}

const redis = await startRedis()
t.teardown(() => redis.close())

t.test('the test has a value for each field', async (t) => {
  t.ok([...undescribed, optional, unstored].every(Boolean))
  for (const kind of Object.keys(STORED_FIELDS) as StoredKind[]) t.same(fieldsOf(storedOf(kind)), valuesOf[kind], kind)
})

for (const place of ['memory', 'local tier', 'Redis'] as const) {
  const open = async (t: Test) =>
    place === 'memory'
      ? createMemoryStore({ bytes: () => 1 << 20 })
      : (await replica(t, redis, { localBytes: () => (place === 'Redis' ? 0 : 1 << 20) })).store

  for (const kind of Object.keys(STORED_FIELDS) as StoredKind[]) {
    t.test(`${place}: a lookup of a ${kind} returns all fields, also one that was added`, async (t) => {
      const store = await open(t)
      const key = `${kind}:${place}`
      const listed = kind !== 'bytes' && { info }
      await store.store({ key, tags: TAGS, stored: storedOf(kind), ...listed, epochs: await epochsOf(store, key) })
      const found = await store.lookup(key, TAGS)
      t.equal(found.kind === 'hit' && found.isLocal, place !== 'Redis')
      t.same(fieldsOf(found.kind === 'hit' ? found.response : undefined), valuesOf[kind])
      if (kind === 'bytes') return
      await store.purge({ keys: [key], soft: true })
      const stale = await store.lookup(key, TAGS)
      const { ttl, staleWhileRevalidate, staleWhileHot, ...others } = fieldsOf(
        stale.kind === 'hit' ? stale.response : undefined,
      ) as StoredBytes
      t.match({ ...valuesOf[kind] }, others, 'after a soft purge too')
      t.hasProps(others, Object.keys(added))
    })
  }
}

t.test('bytes of one kind are not found under the key of another one', async (t) => {
  const { store, events } = await replica(t, redis, { localBytes: () => 0 })
  const other = { key: 'a response', tags: TAGS, stored: storedOf<StoredBytes>('bytes'), info }
  await store.store({ ...other, epochs: await epochsOf(store, other.key) })
  t.match(await store.lookup(other.key, TAGS), { kind: 'miss' })
  t.strictSame(events, ['corrupt'])
})

t.test('a hit has all fields, and is the response that was stored', async (t) => {
  const { store, cache, read } = readReplica()
  const request = edgeRequest('GET /agents')
  const target = cache.explained.resolveTarget(request)
  if (typeof target === 'string') throw new Error(target)
  const { key, tags } = target
  const stored = { ...storedOf<StoredResponse>('response'), ttl: lifetimes.ttl }
  await store.store({ ...target, epochs: await epochsOf(store as never, key, tags), stored })
  const hit = await read(request)
  if (hit.kind === 'file') throw new Error('a file')
  t.match(hit, { status: 404, errorNumber: 1701, body: stored.body })
  t.same(fieldsOf(cachedOf(hit)?.response), { ...valuesOf.response, ttl: lifetimes.ttl })
})
