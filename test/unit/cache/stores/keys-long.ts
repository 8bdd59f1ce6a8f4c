/**
 * Checks that a million different URLs, each requested once, leave no keys and take no memory (`npm run check:keys`):
 * through the whole edge over HTTP with the memory store, and through the stages of the cache, without HTTP, over a
 * real Redis that has memory for a part of them only.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { startRedis } from '../../../support/redis.ts'
import { readOptions } from '../../../support/script-options.ts'
import { openHttpSource, openRedisSource, type Source, STALE_IF_ERROR_MS, TTL_MS } from './distinct-urls.ts'

const { values, refuse } = readOptions({
  name: 'check:keys',
  purpose: 'Checks that URLs which are requested once leave no keys and take no memory.',
  options: {
    urls: { kind: 'number', meaning: 'number of URLs (default 1000000)' },
    only: { kind: 'text', value: 'STORE', meaning: 'check one store only: memory or redis' },
  },
})
const { urls = 1_000_000, only } = values
if (only !== undefined && only !== 'memory' && only !== 'redis') refuse(`--only must be memory or redis, got "${only}"`)
const PIECES = 20
const MIB = 1 << 20
/** MiB per 100,000 URLs. Twenty bytes per URL would be more. */
const MAX_GROWTH = 2
const MAXMEMORY = 16 * MIB

interface Sample {
  readonly done: number
  readonly rss: number
  readonly held: number
}

const failed: string[] = []

function report(check: string, passed: boolean): void {
  console.log(`${passed ? 'ok' : 'NOT OK'} – ${check}`)
  if (!passed) failed.push(check)
}

/** Returns the growth in MiB per 100,000 URLs by least squares. */
function slope(samples: readonly Sample[], of: 'rss' | 'held'): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [samples.map(({ done }) => done / 100_000), samples.map((sample) => sample[of] / MIB)]
  const [middle, level] = [mean(x), mean(y)]
  const along = x.map((value, at) => (value - middle) * ((y[at] ?? 0) - level))
  return mean(along) / mean(x.map((value) => (value - middle) ** 2))
}

/** Requests all URLs and checks the growth of memory in the second half. The first half fills the cache. */
async function requestAll(name: string, source: Source, seen: () => Promise<string> = async () => ''): Promise<void> {
  const begin = performance.now()
  const piece = Math.ceil(urls / PIECES)
  const samples: Sample[] = []
  for (let at = 0; at < PIECES; at += 1) {
    const rows = await source.run(at * piece, piece)
    const memory = await source.memory()
    samples.push({ done: (at + 1) * piece, ...memory })
    const sizes = `RSS ${(memory.rss / MIB).toFixed(1)}, held ${(memory.held / MIB).toFixed(1)} MiB`
    console.log(`${name}: ${(at + 1) * piece} URLs, ${sizes}, ${rows} rows${await seen()}`)
  }
  const seconds = (performance.now() - begin) / 1000
  console.log(`${name}: ${seconds.toFixed(0)} s, ${((PIECES * piece) / seconds).toFixed(0)} URLs per second`)
  const second = samples.slice(PIECES / 2)
  for (const of of ['rss', 'held'] as const) {
    const grown = slope(second, of)
    report(`${name}: ${of} grows by ${grown.toFixed(2)} MiB for 100,000 URLs in the second half`, grown < MAX_GROWTH)
  }
  await wait(TTL_MS + STALE_IF_ERROR_MS + 1000)
  const left = await source.rows()
  report(`${name}: ${left} rows in the index after everything expired`, left === 0)
}

async function memory(): Promise<void> {
  const source = await openHttpSource()
  await requestAll('memory, over HTTP', source).finally(() => source.close())
}

async function redis(): Promise<void> {
  const server = await startRedis({ args: ['--maxmemory', `${MAXMEMORY}`, '--maxmemory-policy', 'volatile-lru'] })
  const client = server.client()
  const number = async (section: string, field: string) =>
    Number(new RegExp(`${field}:(\\d+)`).exec(await client.info(section))?.[1])
  const source = await openRedisSource(server)
  const generation = () => client.hget('edge:{e}', 'g')
  const before = await generation()
  let most = 0
  await requestAll('Redis, stages', source, async () => {
    const used = await number('memory', 'used_memory')
    most = Math.max(most, used)
    return `, ${await client.dbsize()} keys, Redis ${(used / MIB).toFixed(1)} MiB`
  })
  const left = (await client.keys('*')).sort()
  report(`Redis: ${left.length} keys left: ${left.slice(0, 5).join(' ')}`, left.join() === 'edge:i,edge:{e}')
  report(`Redis: ${await client.hlen('edge:{e}')} fields of epochs`, (await client.hlen('edge:{e}')) < 10)
  report('Redis: the generation has not changed', before !== null && (await generation()) === before)
  report(`Redis: ${(most / MIB).toFixed(1)} MiB at most, limit ${MAXMEMORY / MIB}`, most < MAXMEMORY * 1.1)
  console.log(`Redis: ${await number('stats', 'evicted_keys')} evicted, events: ${JSON.stringify(source.events())}`)
  await source.close()
  await server.close()
}

if (only !== 'redis') await memory()
if (only !== 'memory') await redis()
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
