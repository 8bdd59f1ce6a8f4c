/**
 * A million different URLs, each asked once, leave no keys and take no memory (`npm run check:keys`). Through the whole
 * edge over HTTP with the memory store; through the stages of the cache, without HTTP, over a real Redis that may hold
 * a part of them only. Arguments, all optional: URLs, and `memory` or `redis` alone.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { startRedis } from '../../../support/redis.ts'
import { KEEP_FOR, overHttp, overRedis, type Source, STALE_IF_ERROR } from './distinct.ts'

const [urls = '1000000', only] = process.argv.slice(2)
const PIECES = 20
const MIB = 1 << 20
/** MiB for 100,000 URLs: twenty bytes for each would be more. */
const MOST = 2
const MAXMEMORY = 16 * MIB

interface Sample {
  readonly done: number
  readonly rss: number
  readonly held: number
}

const failed: string[] = []

function hold(what: string, right: boolean): void {
  console.log(`${right ? 'ok' : 'NOT OK'} – ${what}`)
  if (!right) failed.push(what)
}

/** MiB for 100,000 URLs, by least squares. */
function slope(samples: readonly Sample[], of: 'rss' | 'held'): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [samples.map(({ done }) => done / 100_000), samples.map((sample) => sample[of] / MIB)]
  const [middle, level] = [mean(x), mean(y)]
  const along = x.map((value, at) => (value - middle) * ((y[at] ?? 0) - level))
  return mean(along) / mean(x.map((value) => (value - middle) ** 2))
}

/** Asks for all, and holds the memory of the second half against itself: the first fills what may be filled. */
async function ask(name: string, source: Source, seen: () => Promise<string> = async () => ''): Promise<void> {
  const begin = performance.now()
  const piece = Math.ceil(Number(urls) / PIECES)
  const samples: Sample[] = []
  for (let at = 0; at < PIECES; at += 1) {
    const rows = await source.run(at * piece, piece)
    const memory = await source.memory()
    samples.push({ done: (at + 1) * piece, ...memory })
    const sizes = `RSS ${(memory.rss / MIB).toFixed(1)}, held ${(memory.held / MIB).toFixed(1)} MiB`
    console.log(`${name}: ${(at + 1) * piece} URLs, ${sizes}, ${rows} rows${await seen()}`)
  }
  const seconds = (performance.now() - begin) / 1000
  console.log(`${name}: ${seconds.toFixed(0)} s, ${((PIECES * piece) / seconds).toFixed(0)} URLs a second`)
  const second = samples.slice(PIECES / 2)
  for (const of of ['rss', 'held'] as const) {
    const grown = slope(second, of)
    hold(`${name}: ${of} grows by ${grown.toFixed(2)} MiB for 100,000 URLs in the second half`, grown < MOST)
  }
  await wait(KEEP_FOR + STALE_IF_ERROR + 1000)
  const left = await source.rows()
  hold(`${name}: ${left} rows in the index when all has ended`, left === 0)
}

async function memory(): Promise<void> {
  const source = await overHttp()
  await ask('memory, over HTTP', source).finally(() => source.close())
}

async function redis(): Promise<void> {
  const server = await startRedis({ args: ['--maxmemory', `${MAXMEMORY}`, '--maxmemory-policy', 'volatile-lru'] })
  const client = server.client()
  const number = async (section: string, field: string) =>
    Number(new RegExp(`${field}:(\\d+)`).exec(await client.info(section))?.[1])
  const source = await overRedis(server)
  const generation = () => client.hget('edge:{e}', 'g')
  const before = await generation()
  let most = 0
  await ask('Redis, stages', source, async () => {
    const used = await number('memory', 'used_memory')
    most = Math.max(most, used)
    return `, ${await client.dbsize()} keys, Redis ${(used / MIB).toFixed(1)} MiB`
  })
  const left = (await client.keys('*')).sort()
  hold(`Redis: ${left.length} keys left: ${left.slice(0, 5).join(' ')}`, left.join() === 'edge:i,edge:{e}')
  hold(`Redis: ${await client.hlen('edge:{e}')} fields of coherence`, (await client.hlen('edge:{e}')) < 10)
  hold('Redis: of the generation that it began with', before !== null && (await generation()) === before)
  hold(`Redis: ${(most / MIB).toFixed(1)} MiB at most, ${MAXMEMORY / MIB} allowed`, most < MAXMEMORY * 1.1)
  console.log(`Redis: ${await number('stats', 'evicted_keys')} evicted, said: ${JSON.stringify(source.events())}`)
  await source.close()
  await server.close()
}

if (only !== 'redis') await memory()
if (only !== 'memory') await redis()
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
