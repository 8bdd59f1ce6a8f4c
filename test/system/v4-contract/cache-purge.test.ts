/** A purge through the port of one contract reaches the stored responses of both, on all replicas. */
import t from 'tap'
import { type BothPorts, bothPorts } from './both-ports.ts'

const PATHS = ['/agents?limit=2', '/rules?limit=3'] as const

/** Stores a response of each path, contract and replica. */
async function fill({ v3, v4 }: BothPorts): Promise<void> {
  for (const at of [0, 1, 0]) for (const path of PATHS) await Promise.all([v3(at, path), v4(at, path)])
}

/** Returns the next requests at a replica that would be hits, as `contract path`. Sends none: each would store responses. */
async function hits({ v3, v4 }: BothPorts, at: number): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of PATHS) {
    const explain = `/cache/explain?url=${encodeURIComponent(path)}`
    const { data } = (await v3(at, explain)).body as { data: Explained }
    if (data.next.hit) found.push(`v3 ${path}`)
    const [explained] = (await v4(at, explain)).body.data.affected_items as readonly Explained[]
    if (explained?.next.hit) found.push(`v4 ${path}`)
  }
  return found
}

interface Explained {
  readonly next: { readonly hit: boolean }
}

const all = ['v3 /agents?limit=2', 'v4 /agents?limit=2', 'v3 /rules?limit=3', 'v4 /rules?limit=3']

const purges = [
  { path: '/cache', left: [] },
  { path: '/cache/rules', left: all.slice(0, 2) },
  { path: '/cache?tag=collection:agents', left: all.slice(2) },
  { path: '/cache?endpoint=/agents', left: [all[0], ...all.slice(2)] },
  { path: '/cache?endpoint=v3:/agents', left: all.slice(1) },
]

for (const { path, left } of purges) {
  t.test(`DELETE ${path} through the v4 port`, async (t) => {
    const ports = await bothPorts(t, { cache: { ttl: { agents: '600s', rules: '600s' } } })
    await fill(ports)
    t.strictSame(await hits(ports, 0), all)
    t.strictSame(await hits(ports, 1), all)
    const preview = await ports.v4(0, `${path}${path.includes('?') ? '&' : '?'}preview=true`, { method: 'DELETE' })
    const { status, body } = await ports.v4(0, path, { method: 'DELETE' })
    t.equal(status, 200)
    const removed = all.length - left.length
    t.match(body, { message: 'All selected stored responses were purged', error: 0 })
    t.match(body.data, { total_affected_items: removed, total_failed_items: 0, failed_items: [], entries: removed })
    t.match(preview.body.message, /^Nothing was purged/)
    t.strictSame(preview.body.data, body.data, 'the preview named them')
    t.strictSame(await hits(ports, 1), left, 'the other replica')
    t.strictSame(await hits(ports, 0), left)
    if (!left.includes(all[1] ?? '')) t.notMatch((await ports.v4(1, PATHS[0])).cache, /; hit/)
  })
}

t.test('keys purge single responses, and unknown ones are failed items', async (t) => {
  const ports = await bothPorts(t, { cache: { ttl: { agents: '600s', rules: '600s' } } })
  await fill(ports)
  const listed = await ports.v4(0, '/cache?endpoint=v3:/rules')
  const [{ key, url }] = listed.body.data.affected_items
  const unknown = 'A'.repeat(43)
  const { status, body } = await ports.v4(1, `/cache?key=${key},${unknown}`, { method: 'DELETE' })
  t.equal(status, 200)
  t.match(body, {
    error: 2,
    data: {
      affected_items: [url],
      total_affected_items: 1,
      failed_items: [{ error: { code: 945, message: 'Stored response not found' }, id: [unknown] }],
    },
  })
  t.strictSame(await hits(ports, 0), [...all.slice(0, 2), all[3]])
  t.match((await ports.v4(1, `/cache?key=${unknown}`, { method: 'DELETE' })).body, { error: 1 })
})

t.test('a v3 purge reaches the responses of the v4 contract, by name too', async (t) => {
  const ports = await bothPorts(t, { cache: { ttl: { agents: '600s', rules: '600s' } } })
  await fill(ports)
  await ports.v3(0, '/cache?endpoint=v4:/agents', { method: 'DELETE' })
  t.strictSame(await hits(ports, 1), [all[0], ...all.slice(2)])
  await ports.v3(0, '/cache/rules', { method: 'DELETE' })
  t.strictSame(await hits(ports, 1), [all[0]])
})

t.test('with Prefer: return=minimal the response counts, and names no URLs', async (t) => {
  const ports = await bothPorts(t)
  await fill(ports)
  const headers = { prefer: 'return=minimal' }
  const { body } = await ports.v4(0, '/cache', { method: 'DELETE', headers })
  t.match(body.data, { affected_items: [], total_affected_items: 4, entries: 4 })
})
