import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { cacheGroups } from '../../../src/config/schema.ts'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'

const settings = {
  cache: {
    snapshots: { groups: ['agents'] },
    ttl: Object.fromEntries(cacheGroups.map((group) => [group, '10m'])),
  },
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

/** Returns a function that sends a query of agents, after the snapshot was built. */
async function withSnapshot(t: Test) {
  const { edge, simulator } = await simulated(t, { agents: 60 }, { settings })
  const ask = async (query: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
    const authorization = edge.authorization('admin')
    const response = await request(`${edge.url}/agents?${query}`, { headers: { authorization, ...headers } })
    const body = Buffer.from(await response.body.arrayBuffer())
    return { status: response.statusCode, headers: response.headers, body }
  }
  const started = performance.now()
  for (const query of ['limit=1', 'limit=2']) await ask(query)
  return { ask, simulator, seconds: () => Math.ceil((performance.now() - started) / 1000) }
}

const DERIVED = /^manager-edge; hit; ttl=\d+; detail=snapshot$/
const STORED = /^manager-edge; hit; ttl=\d+$/

t.test('a computed response is a hit with its own mark; the same request again is a hit without it', async (t) => {
  const { ask } = await withSnapshot(t)
  const first = await ask('sort=name')
  t.match(first.headers['cache-status'], DERIVED)
  const again = await ask('sort=name')
  t.match(again.headers['cache-status'], STORED)
  t.equal(again.headers.etag, first.headers.etag)
  t.ok(again.body.equals(first.body))
})

t.test('a computed response is as old as its snapshot', async (t) => {
  const { ask, seconds } = await withSnapshot(t)
  const ageOf = async (query: string) => Number((await ask(query)).headers.age)
  t.ok((await ageOf('sort=name')) <= seconds())
  let stored = 0
  // The stored response was computed from the same snapshot, and becomes older.
  await eventually(async () => {
    stored = await ageOf('sort=name')
    return stored >= 2
  })
  const { headers } = await ask('sort=-name')
  t.match(headers['cache-status'], DERIVED)
  t.ok(Number(headers.age) >= stored, `age ${headers.age}, of the snapshot at least ${stored}`)
  t.ok(Number(headers.age) <= seconds(), `age ${headers.age} within ${seconds()} s`)
  const ttl = Number(/ttl=(\d+)/.exec(String(headers['cache-status']))?.[1])
  t.ok(ttl + Number(headers.age) <= 600, 'fresh no longer than the snapshot')
  t.ok(ttl + Number(headers.age) >= 590)
})

t.test('a client that has the computed response gets 304', async (t) => {
  const { ask } = await withSnapshot(t)
  const { headers, body } = await ask('sort=name&limit=20')
  t.match(headers.etag, /^"[^"]+"$/)
  t.ok(body.length > 0)
  // Another URL with the same page: it is computed for this request.
  const same = await ask('sort=name&limit=20&q=id!=99999', { 'if-none-match': String(headers.etag) })
  t.equal(same.status, 304)
  t.match(same.headers['cache-status'], DERIVED)
  t.equal(same.body.length, 0)
  const other = await ask('sort=-name&limit=20', { 'if-none-match': String(headers.etag) })
  t.equal(other.status, 200)
  const stored = await ask('sort=name&limit=20', { 'if-none-match': String(headers.etag) })
  t.equal(stored.status, 304)
  t.match(stored.headers['cache-status'], STORED)
})

t.test('a computed response is compressed for clients that accept it', async (t) => {
  const { ask } = await withSnapshot(t)
  const compressed = await ask('sort=name&limit=40', { 'accept-encoding': 'gzip' })
  t.match(compressed.headers['cache-status'], DERIVED)
  t.equal(compressed.headers['content-encoding'], 'gzip')
  t.match(compressed.headers.vary, /accept-encoding/i)
  const plain = await ask('sort=name&limit=40')
  t.equal(plain.headers['content-encoding'], undefined)
  t.ok(gunzipSync(compressed.body).equals(plain.body))
  const again = await ask('sort=name&limit=40', { 'accept-encoding': 'gzip' })
  t.equal(again.headers['content-encoding'], 'gzip')
  t.match(again.headers['cache-status'], STORED)
  t.ok(gunzipSync(again.body).equals(plain.body))
})

t.test('a client that wants no stored response gets one of the node', async (t) => {
  const { ask, simulator } = await withSnapshot(t)
  simulator.seen.length = 0
  const { headers } = await ask('sort=name', { 'cache-control': 'no-cache' })
  t.match(headers['cache-status'], /fwd=request/)
  t.equal(simulator.seen.filter(({ url }) => url.startsWith('/agents')).length, 1)
})
