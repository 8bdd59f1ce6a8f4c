/** What every store must do: one suite for the memory store, and for the Redis store with and without a local tier. */

import type { Test } from 'tap'
import type { CacheStore, EpochStore, NewEntry } from '../../../../src/cache/stores/contract.ts'
import type { CacheIndex } from '../../../../src/core/cache-index.ts'
import { bytesOf, type Lookup, type StoredResponse, type TagEpochs } from '../../../../src/core/stored-response.ts'
import { eventually } from '../../../support/eventually.ts'
import { storedResponse } from '../../../support/stored-response.ts'

export type Store = CacheStore & CacheIndex & EpochStore

export interface Stores {
  /** Two replicas that share their entries; for the memory store twice the same store. */
  readonly one: Store
  readonly other: Store
}

export const TAGS = ['cache', 'cache:agents', 'agent:001', 'agent:*']

export function response(text: string, more: Partial<StoredResponse> = {}): StoredResponse {
  const times = { staleWhileRevalidate: 5000, staleIfError: 10_000, fetchTime: 7 }
  return storedResponse(text, { etag: `"${text}"`, ...times, ...more })
}

export interface Filled {
  readonly key?: string
  readonly tags?: readonly string[]
  readonly more?: Partial<StoredResponse>
  readonly group?: string
}

export function entry(
  text: string,
  epochs: TagEpochs,
  { key = 'k', tags = TAGS, more = {}, group = 'agents' }: Filled = {},
): NewEntry<StoredResponse> {
  const listed = { url: `/agents?text=${text}`, group, endpoint: '/agents', scope: 'everyone', tags }
  return { key, tags, epochs, stored: response(text, more), info: listed }
}

/** Returns the epochs that a fetch for this key would begin with. On busy cores, the store may be unavailable for a moment. */
export async function epochsOf(store: Store, key = 'k', tags: readonly string[] = TAGS): Promise<TagEpochs> {
  let epochs: TagEpochs | undefined
  await eventually(async () => {
    const lookup = await store.lookup(key, tags)
    if (lookup.kind !== 'unavailable') epochs = lookup.epochs
    return epochs !== undefined
  })
  if (epochs === undefined) throw new Error('the store is unavailable')
  return epochs
}

/** Epochs as they are compared, without the time of their reading. */
export function withoutTime({ readAt: _, ...epochs }: TagEpochs): TagEpochs {
  return epochs
}

export async function fill(store: Store, text: string, filled: Filled = {}): Promise<void> {
  await store.store(entry(text, await epochsOf(store, filled.key, filled.tags), filled))
}

/** As `fill`. Resolves when all replicas list the entry: a store that counts rows has written its own. */
export async function fillAndList(store: Store, text: string, filled: Filled = {}): Promise<void> {
  await fill(store, text, filled)
  await store.count()
}

/** Returns the body of a hit, or the kind of the lookup. */
export async function served(store: Store, key = 'k', tags: readonly string[] = TAGS): Promise<string> {
  const lookup = await store.lookup(key, tags)
  return lookup.kind === 'hit' ? lookup.response.body.toString() : lookup.kind
}

export function hitOf(lookup: Lookup): StoredResponse & { readonly age: number } {
  if (lookup.kind !== 'hit') throw new Error(`no hit but a ${lookup.kind}`)
  const { response, age } = lookup
  if (response.kind === 'snapshot') throw new Error('no response but a snapshot')
  return { ...response, age }
}

const waiting = () => new Promise<string>((resolve) => setTimeout(() => resolve('waiting'), 40))

/** Runs the suite. `make` returns new, empty stores for each subtest. */
export function describeStore(t: Test, make: (t: Test) => Promise<Stores>): void {
  t.test('a stored response is served unchanged by every replica', async (t) => {
    const { one, other } = await make(t)
    t.match(await one.lookup('k', TAGS), { kind: 'miss', changed: false, epochs: { fenced: false } })
    await fill(one, 'first', { more: { status: 404 } })
    for (const store of [one, other]) {
      const found = hitOf(await store.lookup('k', TAGS))
      t.match(found, { ...response('first'), status: 404, body: Buffer.from('first') })
      t.ok(found.age >= 0 && found.age < 10_000, `${found.age}`)
    }
    t.equal(await served(one, 'another'), 'miss')
    await fill(other, 'second')
    // Both responses are valid. The other replica removes its local entry a moment later.
    for (let wait = 0; wait < 200 && (await served(one)) !== 'second'; wait += 1) await waiting()
    t.equal(await served(one), 'second', 'a v4 response replaces it')
  })

  t.test('a joined response is stored with its Cluster-Status, and is as old as its oldest part', async (t) => {
    const { one, other } = await make(t)
    const whole = entry('whole', await epochsOf(one), { more: { clusterStatus: 'm;rtt=1;rows=2' } })
    await one.store({ ...whole, initialAge: 10_000 })
    for (const store of [one, other]) {
      const found = hitOf(await store.lookup('k', TAGS))
      t.equal(found.clusterStatus, 'm;rtt=1;rows=2')
      t.ok(found.age >= 10_000 && found.age < 20_000, `${found.age}`)
    }
    await one.store({ ...whole, initialAge: 60_000 })
    const [row] = (await one.list()).filter(({ key }) => key === 'k')
    t.ok((row?.age ?? 0) < 60_000, 'a response that has expired is not stored')
  })

  t.test('epochs are equal exactly if nothing was invalidated in between', async (t) => {
    const { one, other } = await make(t)
    const before = await epochsOf(one)
    t.same(withoutTime(await epochsOf(other)), withoutTime(before))
    t.equal(before.epochs.length, TAGS.length)
    await (await one.fence(['elsewhere'])).lift([])
    t.same(withoutTime(await epochsOf(other)), withoutTime(before))
    await (await one.fence(['agent:001'])).lift([])
    const after = await epochsOf(other)
    t.equal(after.generation, before.generation)
    t.not(after.epochs[2], before.epochs[2])
    t.equal(after.epochs[3], before.epochs[3])
  })

  t.test('a write fences its tags while in progress, and changes their epochs', async (t) => {
    const { one, other } = await make(t)
    await fill(one, 'old')
    t.equal(await served(other), 'old')
    const fence = await one.fence(['agent:001'])
    t.equal(fence.state, 'active')
    for (const store of [one, other]) {
      t.match(await store.lookup('k', TAGS), { kind: 'miss', changed: true, epochs: { fenced: true } })
    }
    await fence.lift(['agent:*'])
    for (const store of [one, other]) {
      t.match(await store.lookup('k', TAGS), { kind: 'miss', changed: true, epochs: { fenced: false } })
    }
    await fill(other, 'new')
    t.equal(await served(one), 'new')
  })

  t.test('a response is not stored if a write began or ended during its fetch', async (t) => {
    const { one, other } = await make(t)
    const before = await epochsOf(one)
    const fence = await other.fence(['agent:*'])
    await one.store(entry('overtaken', before))
    t.equal(await served(one), 'miss')
    const during = await epochsOf(one)
    await one.store(entry('under the fence', during))
    t.equal(await served(one), 'miss')
    await fence.lift([])
    await one.store(entry('overtaken', before))
    await one.store(entry('under the fence', during))
    for (const store of [one, other]) t.equal(await served(store), 'miss')
  })

  t.test('of two fences on one tag the second remains when the first is lifted', async (t) => {
    const { one, other } = await make(t)
    const first = await one.fence(['agent:001'])
    const second = await other.fence(['agent:001', 'agent:002'])
    await first.lift([])
    t.equal((await epochsOf(one)).fenced, true)
    await second.lift([])
    t.equal((await epochsOf(one)).fenced, false)
  })

  t.test('tags that the response named are invalidated when the fence is lifted', async (t) => {
    const { one, other } = await make(t)
    await fill(one, 'old')
    const fence = await one.fence(['agent:002'])
    t.equal(await served(other), 'old')
    await fence.lift(['agent:001'])
    for (const store of [one, other]) t.equal(await served(store), 'miss')
  })

  t.test('bytes are found by every replica until they expire, or a write to one of their tags begins', async (t) => {
    const { one, other } = await make(t)
    const [key, tags] = ['bytes:b', ['rights', 'tokens:ann']] as const
    const save = async (text: string, ttl = 20_000, initialAge = 0) => {
      const epochs = await epochsOf(one, key, tags)
      await one.store({ key, tags, epochs, stored: bytesOf({ text }, ttl), initialAge })
      return epochs
    }
    const found = async (store: Store) => {
      const lookup = await store.lookup(key, tags)
      if (lookup.kind !== 'hit' || lookup.age >= lookup.response.ttl) return 'miss'
      return JSON.parse(lookup.response.body.toString()).text
    }
    const foundByBoth = async () => [await found(one), await found(other)]
    await save('first', 20_000, 5000)
    t.same(await foundByBoth(), ['first', 'first'])
    for (const store of [one, other]) {
      const lookup = await store.lookup(key, tags)
      t.ok(lookup.kind === 'hit' && lookup.age >= 5000 && lookup.age < 15_000, 'the age that they were stored with')
      t.same([await store.list(), await store.find(key), [...(await store.count())]], [[], undefined, []], 'nor listed')
    }
    const fence = await other.fence(['tokens:ann'])
    t.same(await foundByBoth(), ['miss', 'miss'])
    const during = await save('under the fence')
    await fence.lift([])
    await one.store({ key, tags, epochs: during, stored: bytesOf({ text: 'from before' }, 20_000) })
    t.same(await foundByBoth(), ['miss', 'miss'])
    await save('second')
    t.same(await foundByBoth(), ['second', 'second'])
    await other.purge({ tag: 'rights', soft: true })
    t.same(await foundByBoth(), ['miss', 'miss'], 'they expire with a soft purge')
    await save('expired', 1000, 1000)
    t.same(await foundByBoth(), ['miss', 'miss'])
  })

  t.test('a fetch lock has one holder per key and epochs, and the others learn of its release', async (t) => {
    const { one, other } = await make(t)
    const epochs = await epochsOf(one)
    const holder = await one.acquireFetchLock('k', epochs, 5000)
    if (!holder.held) throw new Error('the lock should be free')
    const follower = await other.acquireFetchLock('k', epochs, 5000)
    if (follower.held) throw new Error('held twice')
    t.equal((await other.acquireFetchLock('another', epochs, 5000)).held, true)
    t.equal(await Promise.race([follower.settled, waiting()]), 'waiting')
    await one.store({ ...entry('filled', epochs), ...(holder.shared && { lock: holder.shared }) })
    await holder.release()
    await follower.settled
    t.equal(await served(other), 'filled')
    const next = await other.acquireFetchLock('k', epochs, 5000)
    if (!next.held) throw new Error('the lock should be free again')
    await holder.release()
    t.equal(
      (await one.acquireFetchLock('k', epochs, 5000)).held,
      false,
      'a second release does not free the lock of the next holder',
    )
    await next.release()
  })

  t.test('a fetch lock and its entry may have a key with braces', async (t) => {
    const { one, other } = await make(t)
    for (const key of ['search=}', '{', 'a{b}c', '{}', '}{', '{{a}}']) {
      const epochs = await epochsOf(one, key)
      const holder = await one.acquireFetchLock(key, epochs, 5000)
      const follower = await other.acquireFetchLock(key, epochs, 5000)
      t.strictSame([holder.held, follower.held], [true, false], key)
      if (!holder.held || follower.held) return
      await one.store({ ...entry('filled', epochs, { key }), ...(holder.shared && { lock: holder.shared }) })
      await holder.release()
      await follower.settled
      t.strictSame([await served(one, key), await served(other, key)], ['filled', 'filled'], key)
    }
  })

  t.test('fetch locks of different epochs are independent', async (t) => {
    const { one, other } = await make(t)
    const before = await one.acquireFetchLock('k', await epochsOf(one), 5000)
    await (await other.fence(['agent:001'])).lift([])
    const after = await other.acquireFetchLock('k', await epochsOf(other), 5000)
    t.equal(before.held && after.held, true)
    for (const lock of [before, after]) if (lock.held) await lock.release()
  })

  t.test('the index lists what may be served, and nothing that was invalidated', async (t) => {
    const { one, other } = await make(t)
    await fillAndList(one, 'agents')
    await fillAndList(other, 'rules', { key: 'r', group: 'rules', tags: ['cache', 'cache:rules'] })
    const [row] = await other.list('agents')
    t.match(row, {
      key: 'k',
      group: 'agents',
      url: '/agents?text=agents',
      scope: 'everyone',
      size: 6,
      fetchTime: 7,
      tags: TAGS,
    })
    t.ok(row !== undefined && row.age >= 0 && row.timeLeft > 20_000 && row.timeLeft <= 30_000, `${row?.timeLeft}`)
    t.same((await one.list()).map((each) => each.key).sort(), ['k', 'r'])
    await (await one.fence(['agent:001'])).lift([])
    t.same(
      (await other.list()).map((each) => each.key),
      ['r'],
    )
  })

  t.test('peek returns the same as lookup, but counts no hit and moves no entry to the local tier', async (t) => {
    const { one, other } = await make(t)
    t.match(await one.peek('k', TAGS), { kind: 'miss' })
    await fillAndList(one, 'text')
    const seen = [await other.peek('k', TAGS), await other.peek('k', TAGS), await one.peek('k', TAGS)]
    const locality = seen.map((lookup) => lookup.kind === 'hit' && lookup.isLocal)
    for (const lookup of seen) t.match(hitOf(lookup), response('text'))
    t.equal(locality[1], locality[0], 'a peek does not copy the entry to the local tier')
    const hits = async (store: Store) => (await store.list()).map((row) => row.hits)
    t.same(await hits(other), [0])
    await one.lookup('k', TAGS)
    await one.peek('k', TAGS)
    t.same(await hits(one), [1], 'a lookup counts as a hit, a peek does not')
    const fence = await other.fence(['agent:001'])
    t.match(await one.peek('k', TAGS), { kind: 'miss', changed: true, epochs: { fenced: true } })
    await fence.lift([])
  })

  t.test('the index is counted by group, read in pages, and searched by key', async (t) => {
    const { one, other } = await make(t)
    for (let at = 0; at < 5; at += 1)
      await fillAndList(one, `a${at}`, { key: `a${at}`, tags: [...TAGS, `agent:${at}`] })
    for (let at = 0; at < 3; at += 1)
      await fill(other, `r${at}`, { key: `r${at}`, group: 'rules', tags: ['cache:rules'] })
    const keys = async (offset: number, limit: number, group?: string) =>
      (await one.page({ offset, limit, ...(group && { group }) })).rows.map(({ key }) => key)
    t.strictSame(
      [...(await other.count())],
      [
        ['agents', 5],
        ['rules', 3],
      ],
    )
    const all = await keys(0, 100)
    t.strictSame([...all].sort(), ['a0', 'a1', 'a2', 'a3', 'a4', 'r0', 'r1', 'r2'])
    t.strictSame(all.slice(5).sort(), ['r0', 'r1', 'r2'], 'one group after the other')
    t.strictSame([...(await keys(0, 3)), ...(await keys(3, 4)), ...(await keys(7, 9))], all, 'pages are disjoint')
    t.strictSame(await keys(1, 1, 'rules'), all.slice(6, 7))
    t.strictSame(await keys(8, 10), [])
    await (await one.fence(['agent:1'])).lift([])
    t.strictSame(await keys(0, 4), all.filter((key) => key !== 'a1').slice(0, 4), 'a row that a write invalidated')
    t.equal((await one.page({ offset: 0, limit: 1 })).total, 7)
    t.match(await other.find('r1'), { key: 'r1', group: 'rules', size: 2 })
    t.equal(await one.find('a1'), undefined)
    t.equal(await one.find('none'), undefined)
    await one.purge({ group: 'agents' })
    t.strictSame([...(await other.count())], [['rules', 3]])
  })

  t.test('purge removes one entry, a group, or everything', async (t) => {
    const { one, other } = await make(t)
    const rules = ['cache', 'cache:rules']
    const fillAll = async () => {
      await fillAndList(one, 'a')
      await fillAndList(one, 'b', { key: 'k2' })
      await fillAndList(other, 'c', { key: 'r', group: 'rules', tags: rules })
    }
    const all = async () => [await served(other), await served(other, 'k2'), await served(one, 'r', rules)]
    await fillAll()
    t.same(await all(), ['a', 'b', 'c'])
    await one.purge({ keys: ['k'] })
    t.same(await all(), ['miss', 'b', 'c'])
    t.same((await other.list()).map((row) => row.key).sort(), ['k2', 'r'])
    await other.purge({ group: 'agents' })
    t.same(await all(), ['miss', 'miss', 'c'])
    t.same(await one.list('agents'), [])
    await one.purge({ group: 'unknown' })
    await fillAll()
    await one.purge({})
    t.same(await all(), ['miss', 'miss', 'miss'])
    t.same(await other.list(), [])
  })

  t.test('purge removes the responses of an endpoint, those with a tag, and those with some keys', async (t) => {
    const { one, other } = await make(t)
    const ofAgents = ['cache', 'cache:agents', 'cache:/agents', 'agent:001']
    const ofGroups = ['cache', 'cache:agents', 'cache:/agents/groups', 'agent:001']
    const fillAll = async () => {
      await fillAndList(one, 'a', { key: 'a', tags: ofAgents })
      await fillAndList(other, 'b', { key: 'b', tags: ofGroups })
    }
    for (const store of [one, other]) {
      await fillAll()
      t.equal(await store.purge({ endpoint: '/agents' }), 'done')
      for (const each of [one, other]) {
        t.same([await served(each, 'a', ofAgents), await served(each, 'b', ofGroups)], ['miss', 'b'])
        t.same(
          (await each.list()).map(({ key }) => key),
          ['b'],
        )
      }
      await fillAll()
      const counts = [one.purgeCount(), other.purgeCount()]
      await store.purge({ tag: 'agent:001' })
      for (const [at, each] of [one, other].entries()) {
        t.same([await served(each, 'a', ofAgents), await served(each, 'b', ofGroups)], ['miss', 'miss'])
        t.same(await each.list(), [])
        t.ok(each.purgeCount() > (counts[at] ?? 0), 'every replica lists its entries again')
      }
      await fillAll()
      await store.purge({ keys: ['a', 'b', 'unknown'] })
      for (const each of [one, other]) {
        t.same([await served(each, 'a', ofAgents), await served(each, 'b', ofGroups)], ['miss', 'miss'])
        t.same([await each.list(), [...(await each.count())]], [[], []])
      }
    }
  })

  t.test('a purge of more keys than one command takes removes all of them', async (t) => {
    const { one, other } = await make(t)
    const keys = Array.from({ length: 300 }, (_, at) => `k${at}`)
    await Promise.all(keys.map((key) => fillAndList(one, key, { key })))
    t.equal((await other.list()).length, 300)
    t.equal(await other.purge({ keys }), 'done')
    t.same(await one.list(), [])
    t.same(
      await Promise.all(keys.map((key) => served(one, key))),
      keys.map(() => 'miss'),
    )
  })

  t.test('a response is not stored if its tag or its endpoint was purged during the fetch', async (t) => {
    const { one, other } = await make(t)
    const tags = ['cache', 'cache:/agents', 'agent:001']
    for (const scope of [{ tag: 'agent:001' }, { endpoint: '/agents' }]) {
      const before = await epochsOf(one, 'k', tags)
      await other.purge(scope)
      await one.store(entry('from before', before, { tags }))
      t.equal(await served(one, 'k', tags), 'miss')
    }
  })

  t.test('a response is not stored if its key was purged during the fetch', async (t) => {
    const { one, other } = await make(t)
    const before = await epochsOf(one)
    await other.purge({ keys: ['k'] })
    await one.store(entry('from before', before))
    t.equal(await served(one), 'miss')
    await fill(one, 'from after')
    t.equal(await served(other), 'from after')
  })

  t.test('after a soft purge entries are served, but as stale', async (t) => {
    const { one, other } = await make(t)
    const ways = [{}, { group: 'agents' }, { keys: ['k'] }, { tag: 'agent:001' }]
    for (const way of ways) {
      await fill(one, 'stored')
      const fresh = hitOf(await other.lookup('k', TAGS))
      t.ok(fresh.age < fresh.ttl)
      await other.purge({ ...way, soft: true })
      for (const store of [one, other]) {
        const stale = hitOf(await store.lookup('k', TAGS))
        t.ok(stale.age >= stale.ttl, JSON.stringify(way))
        t.ok(stale.age < stale.ttl + stale.staleWhileRevalidate)
      }
      t.equal((await one.list('agents')).length, 1)
    }
    await fill(one, 'again')
    const again = hitOf(await other.lookup('k', TAGS))
    t.ok(again.age < again.ttl, 'a new fetch is fresh')
  })
}
