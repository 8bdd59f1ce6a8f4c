/**
 * Outage mode, for each read of each contract: what one replica has fetched, both replicas serve while no node answers, marked.
 * Behind each layout, in each mode of distribution and of credentials.
 */
import t from 'tap'
import { cacheGroups } from '../../../src/config/schema.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { type Asked, cacheFor, contractsOf, describe, LOGIN, limited, type Reply, rigs, start } from './every-read.ts'

/** Pages, filters and sorts that no client requests before the outage; collections have ties in some of their fields. */
const NEVER_REQUESTED = [
  '/agents?limit=3&offset=1',
  '/agents?sort=status&limit=4',
  '/agents?q=id>2',
  '/rules?limit=2&offset=7',
]
const TTL_MS = 600

const isFresh = ({ status, cache, text }: Reply) =>
  status === 200 && !cache.includes('detail=outage') && /"error":\s*0|^\{"data"/.test(text)

for (const rig of rigs) {
  t.test(rig.name, async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const staleWhileRevalidate = Object.fromEntries(cacheGroups.map((group) => [group, '60s']))
    const cache = { ...cacheFor('500ms', redis.url), staleWhileRevalidate }
    const { ask, setAll, store, storePages, simulator } = await start(t, rig, [cache, cache])
    const contracts = contractsOf(rig)
    const stored = await store(t, 0)
    const collections = stored.filter(({ path }) => path.includes('limit='))
    for (const collection of collections) await storePages(0, collection)
    // A name and a password of the manager are good for reads at a replica where they were accepted, a token at each.
    await ask(1, { contract: 'v3', path: '/agents' })
    const unseen = contracts.flatMap((contract) => NEVER_REQUESTED.map((path): Asked => ({ contract, path })))
    await setAll('refuse')
    await new Promise((resolve) => setTimeout(resolve, TTL_MS))
    for (const at of [0, 1]) {
      await eventually(async () => (await ask(at, stored[0] as Asked)).cache.includes('outage'))
      for (const asked of [...stored, ...unseen]) {
        const reply = await ask(at, asked)
        const isMarked = reply.status === 200 && reply.cache.includes('detail=outage') && reply.hasAge
        t.ok(isMarked, `replica ${at}: ${asked.contract} ${asked.path}: ${describe(reply)}`)
      }
      // A page that no client has requested comes from a snapshot or a stored response with all rows, or is joined from stored
      // parts of nodes; or there is an error.
      const pages = { marked: 0, failed: 0 }
      for (const { contract, path, pagesFrom, isWhole } of collections) {
        const reply = await ask(at, { contract, path: `${limited(path, 2)}&offset=1` })
        const isMarked = reply.cache.includes('detail=outage') && reply.hasAge
        pages[isMarked ? 'marked' : 'failed'] += 1
        t.ok(
          isMarked || (pagesFrom === undefined && !isWhole && reply.status >= 500),
          `replica ${at}: page of ${contract} ${path}: ${describe(reply)}`,
        )
      }
      t.comment(`pages: ${JSON.stringify(pages)}`)
      t.ok(pages.marked > 2 * pages.failed, `pages that no client has requested: ${JSON.stringify(pages)}`)
      if (rig.passthrough === undefined) t.equal((await ask(at, LOGIN, 'GET')).status, 200, 'users of the edge log in')
      for (const contract of contracts) {
        const began = performance.now()
        const reply = await ask(at, { contract, path: '/agents/001/restart' }, 'PUT')
        t.ok(
          reply.status === 503 && performance.now() - began < 1000,
          `${contract}: a write fails at once: ${describe(reply)}`,
        )
      }
    }
    await setAll('pass')
    await eventually(async () => (await Promise.all(stored.map((asked) => ask(0, asked)))).every(isFresh))

    await simulator.faults.set('master', { nodeDown: true })
    await new Promise((resolve) => setTimeout(resolve, TTL_MS))
    const served = { fresh: 0, outage: 0 }
    for (const at of [0, 1]) {
      for (const asked of [...stored, ...unseen]) {
        const reply = await ask(at, asked)
        const isOld = reply.cache.includes('detail=outage')
        served[isOld ? 'outage' : 'fresh'] += 1
        t.ok(
          reply.status === 200 && (isOld || isFresh(reply)),
          `without the master, replica ${at}: ${asked.contract} ${asked.path}: ${describe(reply)}`,
        )
      }
    }
    t.comment(`without the master: ${JSON.stringify(served)}`)
  })
}
