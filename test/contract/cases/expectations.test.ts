/** Each kind of expectation finds what differs: once all rows hold, no row shows it. */
import t from 'tap'
import type { Received } from './client.ts'
import { callFaults, responseFaults } from './expectations.ts'
import { bytesOf, messageOf } from './texts.ts'
import type { Call, Expect } from './vocabulary.ts'

const noValues = () => undefined
const body = '{"error":0,"data":{"items":[{"id":1}],"totalItems":1}}'
const received: Received = {
  interim: [100],
  status: 200,
  headers: new Map([
    ['age', '3'],
    ['etag', '"a"'],
  ]),
  body: Buffer.from(body),
  ms: 40,
}

/** What the response is like, and what it is not like. */
const pairs: readonly (readonly [holds: Expect, differs: Expect])[] = [
  [{ status: 200 }, { status: [401, 404] }],
  [{ statuses: [200] }, { statuses: [200, 200] }],
  [{ interim: [100] }, { interim: [] }],
  [{ headers: { ETag: '"a"' } }, { headers: { ETag: '"b"' } }],
  [{ headers: { Allow: null } }, { headers: { ETag: null } }],
  [{ headers: { Age: 3 } }, { headers: { Age: 4 } }],
  [{ headers: { Age: { atLeast: 3, atMost: 3 } } }, { headers: { Age: { atLeast: 4 } } }],
  [{ headers: { Age: { atMost: 3 } } }, { headers: { Allow: { atMost: 3 } } }],
  [{ headers: { ETag: { matches: 'a' } } }, { headers: { Allow: { matches: 'a' } } }],
  [{ headers: { ETag: { excludes: 'b' } } }, { headers: { ETag: { excludes: 'a' } } }],
  [{ codings: ['identity'] }, { codings: ['gzip'] }],
  [{ body: { is: body } }, { body: { is: `${body} ` } }],
  [{ body: { json: { data: { items: [{ id: 1 }] } } } }, { body: { json: { data: { items: [{ id: 2 }] } } } }],
  [{ body: { contains: ['"id"'] } }, { body: { contains: ['"id"', '"name"'] } }],
  [{ body: { excludes: ['"name"'] } }, { body: { excludes: ['"id"'] } }],
  [{ body: { matches: '"id":\\d' } }, { body: { matches: '"id":\\D' } }],
  [{ withinMs: 40 }, { withinMs: 39 }],
  [{ anyOf: [{ status: 401 }, { status: 200 }] }, { anyOf: [{ status: 401 }, { status: 404 }] }],
]

t.test('a response', async (t) => {
  for (const [holds, differs] of pairs) {
    t.strictSame(await responseFaults(holds, [received], noValues), [], JSON.stringify(holds))
    t.equal((await responseFaults(differs, [received], noValues)).length, 1, JSON.stringify(differs))
  }
  t.strictSame(await responseFaults({ status: 200 }, [], noValues), ['no response'])
  const other = { ...received, status: 503 }
  t.match(await responseFaults({ status: 200 }, [received, other, other], noValues), [
    /^2 times status 503 instead of 200/,
  ])
})

t.test('calls', async (t) => {
  const calls = [{ method: 'POST', url: '/agents?a', headers: { accept: 'x' }, body: '{}' }]
  const tables: readonly (readonly [holds: Call, differs: Call])[] = [
    [{ to: 'POST /agents' }, { to: 'POST /rules' }],
    [
      { to: 'POST /agents', count: 1 },
      { to: 'POST /agents', count: 0 },
    ],
    [
      { to: 'POST /agents', count: { atMost: 1 } },
      { to: 'POST /agents', count: { atLeast: 2 } },
    ],
    [
      { to: 'POST /agents', headers: { Accept: 'x' } },
      { to: 'POST /agents', headers: { Accept: null } },
    ],
    [
      { to: 'POST /agents', body: { is: '{}' } },
      { to: 'POST /agents', body: { is: '' } },
    ],
  ]
  for (const [holds, differs] of tables) {
    t.strictSame(await callFaults(holds, calls, noValues), [], JSON.stringify(holds))
    t.equal((await callFaults(differs, calls, noValues)).length, 1, JSON.stringify(differs))
  }
})

t.test('texts', async (t) => {
  const values = (name: string) => (name === 'user' ? 'edge' : undefined)
  const text = [{ hex: 'EF BB BF' }, { repeat: `\${user},`, times: 2 }, { base64: 'ß', charset: 'latin1' as const }]
  t.strictSame(await bytesOf(text, values), Buffer.from('\ufeffedge,edge,3w=='))
  const message = [`POST / HTTP/1.1\r\nContent-Length: \${length}\r\n\r\n`, 'äb']
  t.equal((await messageOf(message, values)).toString(), 'POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\näb')
  await t.rejects(bytesOf(`\${other}`, values), /no value for \$\{other\}/)
})
