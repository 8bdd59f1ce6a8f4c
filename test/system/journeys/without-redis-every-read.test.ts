/**
 * Reads while Redis is away, for each collection of each contract: with `cache.withoutRedis: stale`, pages, filters and sorts
 * that no client has requested are computed from the snapshots of this replica and marked, with nodes and without them. With
 * `call`, no response is older than the request.
 */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { type Asked, cacheFor, contractsOf, describe, isStored, limited, rigs, start } from './every-read.ts'

/** How Redis goes away. */
const FAULTS = ['refused', 'stalled'] as const
/** Each replica has its own cache. The fresh responses of the first one outlive the test, those of the second expire. */
const [FRESH, EXPIRED, CALLS] = [0, 1, 2]

/** While nodes answer, they return the pages whose order the rows leave open. */
const isDetermined = ({ contract, path }: Asked) => contract === 'v3' || !path.startsWith('/lists?')

const isMarked = (cache: string) => cache.includes('detail=without-redis')

for (const [number, rig] of rigs.entries()) {
  t.test(rig.name, async (t) => {
    const fault = FAULTS[number % FAULTS.length]
    const open = async () => {
      const redis = await startRedis()
      t.teardown(() => redis.close())
      return redis
    }
    const servers = await Promise.all([open(), open(), open()])
    const cacheOf = (at: number, ttl: string, withoutRedis: 'call' | 'stale') => ({
      ...cacheFor(ttl, `${servers[at]?.url}`),
      withoutRedis,
    })
    const { ask, setAll, store, storePages } = await start(t, rig, [
      cacheOf(FRESH, '10m', 'stale'),
      cacheOf(EXPIRED, '500ms', 'stale'),
      cacheOf(CALLS, '10m', 'call'),
    ])
    const stored = await store(t, FRESH)
    const isCollection = ({ path }: Asked) => path.includes('limit=')
    const collections = stored.filter(isCollection)
    const others = stored.filter((asked) => !isCollection(asked))
    for (const at of [FRESH, EXPIRED, CALLS]) for (const collection of collections) await storePages(at, collection)
    for (const asked of others) await eventually(async () => isStored((await ask(EXPIRED, asked)).cache))

    for (const redis of servers) fault === 'stalled' ? redis.pause() : await redis.kill()
    const first = collections[0] as Asked
    await eventually(async () => isMarked((await ask(FRESH, first)).cache))
    await eventually(async () => !isStored((await ask(CALLS, first)).cache))
    const pageOf = ({ contract, path }: Asked): Asked => ({ contract, path: `${limited(path, 2)}&offset=1` })
    const lastOf = ({ contract, path }: Asked): Asked => ({ contract, path: limited(path, 3) })
    const count = async (what: string, at: number, reads: readonly Asked[]) => {
      const missing: string[] = []
      for (const asked of reads) {
        const reply = await ask(at, asked)
        const isServed = reply.status === 200 && isMarked(reply.cache) && reply.hasAge
        if (!isServed) missing.push(`${asked.contract} ${asked.path}: ${describe(reply)}`)
      }
      t.equal(missing.length, 0, `${what}: ${missing.length} of ${reads.length}: ${missing.join('\n')}`)
    }
    const pages = collections.filter(({ pagesFrom }) => pagesFrom !== undefined).map(pageOf)
    t.ok(pages.length > collections.length / 2, `${pages.length} of ${collections.length} collections have pages`)
    await count('stored responses', FRESH, stored)
    await count('pages, while nodes answer', FRESH, pages.filter(isDetermined))
    for (const { contract, path } of collections) {
      const reply = await ask(CALLS, pageOf({ contract, path }))
      t.notMatch(reply.cache, /; hit|detail=/, `call: ${contract} ${path}`)
    }

    await setAll('refuse')
    await eventually(async () => isMarked((await ask(EXPIRED, pageOf(first))).cache))
    // Another replica may have ended a token of the manager meanwhile, so neither a node nor Redis can confirm it.
    const isConfirmed = ({ contract }: Asked) => rig.passthrough === undefined || contract === 'v3'
    const expired = [...others, ...collections.map(lastOf)]
    await count('stored responses, while no node answers', EXPIRED, expired.filter(isConfirmed))
    await count('pages, while no node answers', EXPIRED, pages.filter(isConfirmed))
    for (const asked of expired.filter((each) => !isConfirmed(each)))
      t.equal((await ask(EXPIRED, asked)).status, 503, `${asked.path}: the token cannot be checked`)
    for (const contract of contractsOf(rig)) {
      for (const path of ['/agents?sort=status&limit=4', '/agents?q=id>2', '/rules?limit=2&sort=level']) {
        if (!isConfirmed({ contract, path })) continue
        const reply = await ask(EXPIRED, { contract, path })
        t.ok(reply.status === 200 && isMarked(reply.cache), `${contract} ${path}: ${describe(reply)}`)
      }
    }
    for (const asked of collections) {
      const reply = await ask(CALLS, pageOf(asked))
      t.ok(reply.status >= 500, `call: ${asked.contract} ${asked.path}: ${describe(reply)}`)
    }
  })
}
