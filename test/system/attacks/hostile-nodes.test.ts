/** Responses of nodes that are made to cost much: other requests are served meanwhile, and nothing of them is stored. */
import t, { type Test } from 'tap'
import { startEdge } from '../../support/edge.ts'
import { MAX_RUNS, measureRuns } from '../../support/event-loop.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

/** Milliseconds of one turn of the event loop. */
const LIMIT_MS = 20
const MB = 1024 * 1024
const repeat = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length))
const list = (row: string, count: number) => `[${Array(Math.floor(count)).fill(row).join(',')}]`

/** `items`: the name of the list of rows. */
const bodies = (items: string, total: string): Readonly<Record<string, string>> => ({
  '300,000 rows': `{"error":0,"data":{"${items}":${list('{}', 300_000)},"${total}":300000}}`,
  '4 MB of lists in rows': `{"error":0,"data":{"${items}":${list('[]', (4 * MB) / 3)},"${total}":1}}`,
  '4 MB of lists in one row': `{"error":0,"data":{"${items}":[{"a":${list('[]', (4 * MB) / 3)}}],"${total}":1}}`,
  '4 MB of lists in data': `{"error":0,"data":${list('[]', (4 * MB) / 3)}}`,
  '4 MB of objects in data': `{"error":0,"data":${list('{}', (4 * MB) / 3)}}`,
  '4 MB with the most lists': `{"error":0,"data":{"${items}":[{"a":${list('[]', 300_000)}}],"${total}":1}}`.padEnd(
    4 * MB,
  ),
  '4 MB of open brackets': `{"error":0,"data":${repeat('[', 4 * MB)}`,
  '4 MB of members': `{"error":0,"data":{${repeat('"a":0,', 4 * MB)}"b":0}}`,
  '4 MB of spaces': `{"error":0,"data":{}${repeat(' ', 4 * MB)}}`,
})

async function start(t: Test, layout: 'v3' | 'v4') {
  let body = Buffer.alloc(0)
  const token = `x.${Buffer.from(JSON.stringify({ exp: 2_000_000_000, nbf: 1_000_000_000 })).toString('base64url')}.x`
  const login = Buffer.from(JSON.stringify({ error: 0, data: { token } }))
  const node = await fakeNode(t, (request, response) => {
    const sent = request.url?.startsWith('/security/') ? login : body
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': sent.length }).end(sent)
  })
  const edge = await startEdge({
    nodes: [{ name: 'm', type: 'master', url: node.url }],
    settings: { cluster: { layout, discover: false, limits: { perMinute: 100_000 } } },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin'), 'accept-encoding': 'identity' }
  let asked = 0
  return {
    answer: (text: string) => {
      body = Buffer.from(text)
    },
    /** Reads each time another URL, so that nothing is stored for it. */
    read: async (path: string) => {
      asked += 1
      const response = await fetch(`${edge.url}${path}${path.includes('?') ? '&' : '?'}offset=${asked}`, { headers })
      await response.arrayBuffer()
      return response
    },
  }
}

for (const [layout, items, total] of [
  ['v3', 'items', 'totalItems'],
  ['v4', 'affected_items', 'total_affected_items'],
] as const) {
  t.test(`${layout} layout`, async (t) => {
    const { answer, read } = await start(t, layout)
    for (const [name, text] of Object.entries(bodies(items, total))) {
      answer(text)
      for (const path of ['/agents?limit=500', '/rules?limit=500']) {
        const runs = await measureRuns(() => read(path), LIMIT_MS)
        const shown = runs.map((ms) => ms.toFixed(1)).join(', ')
        t.ok(runs.length < MAX_RUNS || (runs.at(-1) ?? 0) < LIMIT_MS, `${path}, ${name}: ${shown} ms`)
      }
    }
  })
}

t.test('a doubled member, a negative total and deep nesting are unreadable, and not stored', async (t) => {
  const { answer, read } = await start(t, 'v3')
  for (const text of [
    '{"error":0,"data":{"items":[],"totalItems":0},"error":0}',
    '{"error":0,"data":{"items":[],"totalItems":0},"data":{"items":[{}],"totalItems":1}}',
    '{"error":0,"data":{"items":[],"totalItems":0,"totalItems":1}}',
    '{"error":0,"data":{"items":[],"totalItems":-1}}',
    `{"error":0,"data":{"items":[{"a":${'['.repeat(100)}${']'.repeat(100)}}],"totalItems":1}}`,
  ]) {
    answer(text)
    const response = await read('/rules?limit=5')
    t.equal(response.status, 502, text.slice(0, 80))
    t.notMatch(response.headers.get('cache-status') ?? '', /stored|hit/)
  }
})
