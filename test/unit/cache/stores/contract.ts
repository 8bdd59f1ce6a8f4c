/** What every store must do, whatever keeps its answers: the same suite for memory, Redis, and Redis with a near copy. */
import type { Test } from 'tap'
import type { CacheStore, NewStoredResponse } from '../../../../src/cache/stores/contract.ts'
import type { CacheIndex, Lookup, StoredResponse, TagEpochs } from '../../../../src/core/response.ts'

export type Store = CacheStore & CacheIndex

export interface Made {
  /** Two replicas over the same memory; for a store of one process twice the same. */
  readonly one: Store
  readonly other: Store
}

export const TAGS = ['cache', 'cache:agents', 'agent:001', 'agent:*']

export function answer(text: string, more: Partial<StoredResponse> = {}): Omit<StoredResponse, 'age'> {
  const times = { ttl: 20_000, staleWhileRevalidate: 5000, staleIfError: 10_000, fetchTime: 7 }
  return { status: 200, body: Buffer.from(text), etag: `"${text}"`, ...times, ...more }
}

export interface Filled {
  readonly key?: string
  readonly tags?: readonly string[]
  readonly more?: Partial<StoredResponse>
  readonly group?: string
}

export function entry(
  text: string,
  mark: TagEpochs,
  { key = 'k', tags = TAGS, more = {}, group = 'agents' }: Filled = {},
): NewStoredResponse {
  const listed = { url: `/agents?text=${text}`, group, endpoint: '/agents', scope: 'everyone', tags }
  return { key, tags, epochs: mark, response: answer(text, more), info: listed }
}

/** The mark that a fill of this key would begin with; throws when the store is away. */
export async function markOf(store: Store, key = 'k', tags: readonly string[] = TAGS): Promise<TagEpochs> {
  const look = await store.lookup(key, tags)
  if (look.kind === 'unavailable') throw new Error('the store is away')
  return look.epochs
}

export async function fill(store: Store, text: string, filled: Filled = {}): Promise<void> {
  await store.store(entry(text, await markOf(store, filled.key, filled.tags), filled))
}

/** The text that a look would serve, or the kind of the look. */
export async function served(store: Store, key = 'k', tags: readonly string[] = TAGS): Promise<string> {
  const look = await store.lookup(key, tags)
  return look.kind === 'hit' ? look.response.body.toString() : look.kind
}

function present(look: Lookup): StoredResponse {
  if (look.kind !== 'hit') throw new Error(`not present but ${look.kind}`)
  return look.response
}

const soon = () => new Promise<string>((resolve) => setTimeout(() => resolve('waiting'), 40))

/** Runs the suite; `make` gives fresh, empty stores for each subtest. */
export function contract(t: Test, make: (t: Test) => Promise<Made>): void {
  t.test('what was kept is served as it was', async (t) => {
    const { one, other } = await make(t)
    t.match(await one.lookup('k', TAGS), { kind: 'miss', changed: false, epochs: { fenced: false } })
    await fill(one, 'first', { more: { status: 404 } })
    for (const store of [one, other]) {
      const found = present(await store.lookup('k', TAGS))
      t.match(found, { ...answer('first'), status: 404, body: Buffer.from('first') })
      t.ok(found.age >= 0 && found.age < 10_000, `${found.age}`)
    }
    t.equal(await served(one, 'another'), 'miss')
    await fill(other, 'second')
    // Both are valid: the near copy of the other is told, not waited for.
    for (let wait = 0; wait < 200 && (await served(one)) !== 'second'; wait += 1) await soon()
    t.equal(await served(one), 'second', 'a newer answer takes the place')
  })

  t.test('what nodes said of a joined answer is kept with it, which is as old as its oldest part', async (t) => {
    const { one, other } = await make(t)
    const whole = entry('whole', await markOf(one), { more: { clusterStatus: 'm;rtt=1;rows=2' } })
    await one.store({ ...whole, initialAge: 10_000 })
    for (const store of [one, other]) {
      const found = present(await store.lookup('k', TAGS))
      t.equal(found.clusterStatus, 'm;rtt=1;rows=2')
      t.ok(found.age >= 10_000 && found.age < 20_000, `${found.age}`)
    }
    await one.store({ ...whole, initialAge: 60_000 })
    const [row] = (await one.list()).filter(({ key }) => key === 'k')
    t.ok((row?.age ?? 0) < 60_000, 'what is past its time already is not kept')
  })

  t.test('marks are equal exactly when nothing was raised between them', async (t) => {
    const { one, other } = await make(t)
    const before = await markOf(one)
    t.same(await markOf(other), before)
    t.equal(before.epochs.length, TAGS.length)
    await (await one.fence(['elsewhere'])).lift([])
    t.same(await markOf(other), before)
    await (await one.fence(['agent:001'])).lift([])
    const after = await markOf(other)
    t.equal(after.generation, before.generation)
    t.not(after.epochs[2], before.epochs[2])
    t.equal(after.epochs[3], before.epochs[3])
  })

  t.test('a write: fenced while under way, changed after it', async (t) => {
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

  t.test('a fill that a write overtook is not kept, whenever the write began and ended', async (t) => {
    const { one, other } = await make(t)
    const before = await markOf(one)
    const fence = await other.fence(['agent:*'])
    await one.store(entry('overtaken', before))
    t.equal(await served(one), 'miss')
    const during = await markOf(one)
    await one.store(entry('under the fence', during))
    t.equal(await served(one), 'miss')
    await fence.lift([])
    await one.store(entry('overtaken', before))
    await one.store(entry('under the fence', during))
    for (const store of [one, other]) t.equal(await served(store), 'miss')
  })

  t.test('two fences on one tag: the second still stands when the first is lifted', async (t) => {
    const { one, other } = await make(t)
    const first = await one.fence(['agent:001'])
    const second = await other.fence(['agent:001', 'agent:002'])
    await first.lift([])
    t.equal((await markOf(one)).fenced, true)
    await second.lift([])
    t.equal((await markOf(one)).fenced, false)
  })

  t.test('tags that the answer named are raised when the fence is lifted', async (t) => {
    const { one, other } = await make(t)
    await fill(one, 'old')
    const fence = await one.fence(['agent:002'])
    t.equal(await served(other), 'old')
    await fence.lift(['agent:001'])
    for (const store of [one, other]) t.equal(await served(store), 'miss')
  })

  t.test('a claim is held once for a key and a mark; followers hear of its end', async (t) => {
    const { one, other } = await make(t)
    const mark = await markOf(one)
    const holder = await one.acquireFetchLock('k', mark, 5000)
    if (!holder.held) throw new Error('nobody else holds it')
    const follower = await other.acquireFetchLock('k', mark, 5000)
    if (follower.held) throw new Error('held twice')
    t.equal((await other.acquireFetchLock('another', mark, 5000)).held, true)
    t.equal(await Promise.race([follower.settled, soon()]), 'waiting')
    await one.store(entry('filled', mark))
    await holder.release()
    await follower.settled
    t.equal(await served(other), 'filled')
    const next = await other.acquireFetchLock('k', mark, 5000)
    if (!next.held) throw new Error('it was released')
    await holder.release()
    t.equal(
      (await one.acquireFetchLock('k', mark, 5000)).held,
      false,
      'a second release takes nothing from the next holder',
    )
    await next.release()
  })

  t.test('a claim of other epochs is another claim', async (t) => {
    const { one, other } = await make(t)
    const before = await one.acquireFetchLock('k', await markOf(one), 5000)
    await (await other.fence(['agent:001'])).lift([])
    const after = await other.acquireFetchLock('k', await markOf(other), 5000)
    t.equal(before.held && after.held, true)
    for (const claim of [before, after]) if (claim.held) await claim.release()
  })

  t.test('the index lists what may be served', async (t) => {
    const { one, other } = await make(t)
    await fill(one, 'agents')
    await fill(other, 'rules', { key: 'r', group: 'rules', tags: ['cache', 'cache:rules'] })
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

  t.test('a peek sees what a look would, and leaves no trace', async (t) => {
    const { one, other } = await make(t)
    t.match(await one.peek('k', TAGS), { kind: 'miss' })
    await fill(one, 'text')
    const seen = [await other.peek('k', TAGS), await other.peek('k', TAGS), await one.peek('k', TAGS)]
    const nears = seen.map((look) => look.kind === 'hit' && look.isLocal)
    for (const look of seen) t.match(present(look), answer('text'))
    t.equal(nears[1], nears[0], 'what was looked at is not nearer')
    const hits = async (store: Store) => (await store.list()).map((row) => row.hits)
    t.same(await hits(other), [0])
    await one.lookup('k', TAGS)
    await one.peek('k', TAGS)
    t.same(await hits(one), [1], 'a look counts, a peek does not')
    const fence = await other.fence(['agent:001'])
    t.match(await one.peek('k', TAGS), { kind: 'miss', changed: true, epochs: { fenced: true } })
    await fence.lift([])
  })

  t.test('drop takes one, a group, everything', async (t) => {
    const { one, other } = await make(t)
    const rules = ['cache', 'cache:rules']
    const fillAll = async () => {
      await fill(one, 'a')
      await fill(one, 'b', { key: 'k2' })
      await fill(other, 'c', { key: 'r', group: 'rules', tags: rules })
    }
    const all = async () => [await served(other), await served(other, 'k2'), await served(one, 'r', rules)]
    await fillAll()
    t.same(await all(), ['a', 'b', 'c'])
    await one.purge({ key: 'k' })
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

  t.test('a fill that began before its key was dropped is not kept', async (t) => {
    const { one, other } = await make(t)
    const before = await markOf(one)
    await other.purge({ key: 'k' })
    await one.store(entry('from before', before))
    t.equal(await served(one), 'miss')
    await fill(one, 'from after')
    t.equal(await served(other), 'from after')
  })

  t.test('a soft drop leaves entries, but none of them fresh', async (t) => {
    const { one, other } = await make(t)
    const ways = [{}, { group: 'agents' }, { key: 'k' }]
    for (const way of ways) {
      await fill(one, 'kept')
      const fresh = present(await other.lookup('k', TAGS))
      t.ok(fresh.age < fresh.ttl)
      await other.purge({ ...way, soft: true })
      for (const store of [one, other]) {
        const stale = present(await store.lookup('k', TAGS))
        t.ok(stale.age >= stale.ttl, JSON.stringify(way))
        t.ok(stale.age < stale.ttl + stale.staleWhileRevalidate)
      }
      t.equal((await one.list('agents')).length, 1)
    }
    await fill(one, 'again')
    const again = present(await other.lookup('k', TAGS))
    t.ok(again.age < again.ttl, 'a new fill is fresh')
  })
}
