import { readFileSync } from 'node:fs'
import t from 'tap'
import { isStorable } from '../../../src/cache/store-response.ts'
import { errorNumberOf, etagOf, readEnvelopeInTurns } from '../../../src/core/envelope.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import { nodeResponse } from '../../support/edge-requests.ts'

const read = (text: string) => readEnvelopeInTurns(Buffer.from(text))

t.test('complete envelopes are read', async (t) => {
  t.match(await read('{"error":0,"data":{"items":[],"totalItems":0}}'), {
    ok: true,
    error: 0,
    rows: { from: 28, to: 28 },
  })
  t.strictSame(await read('{"error":0,"data":""}'), { ok: true, error: 0, namesFailedNodes: false })
  t.strictSame(await read(' {"message":"Agent does not exist","error":1701}\n'), {
    ok: true,
    error: 1701,
    namesFailedNodes: false,
  })
})

t.test('the two texts that the manager sends instead of a number are read', async (t) => {
  t.strictSame(await read('{"error":"607","message":"Invalid content-type"}'), {
    ok: true,
    error: 607,
    namesFailedNodes: false,
  })
  t.strictSame(await read('{"error":"Undefined error.","message":""}'), {
    ok: true,
    error: 623,
    namesFailedNodes: false,
  })
})

t.test('a body has at most as many lists and objects as rows can have', async (t) => {
  const rowsOf = (row: string, count: number) =>
    `{"error":0,"data":{"items":[${Array(count).fill(row).join(',')}],"totalItems":${count}}}`
  for (const [row, count] of [
    ['{"id":"1"}', 200_000],
    ['{"id":"00001","os":{"name":"x"},"group":["default"]}', 100_000],
    ['{"id":1,"pci_dss":[],"gpg13":[],"gdpr":[],"hipaa":[],"nist_800_53":[],"tsc":[],"mitre":[]}', 20_000],
  ] as const)
    t.match(await read(rowsOf(row, count)), { ok: true }, row)
  for (const row of ['[]', '{}', '{"a":[]}', '[[[]]]']) {
    t.strictSame(await read(rowsOf(row, Math.floor(1_000_000 / row.length))), { ok: false, reason: 'not JSON' }, row)
  }
})

t.test('white space is at most a megabyte long', async (t) => {
  for (const length of [1024 * 1024, 1024 * 1024 + 1]) {
    const gap = ' '.repeat(length)
    for (const text of [
      `${gap}{"error":0,"data":1}`,
      `{"error":0,${gap}"data":[1${gap},2]}`,
      `{"error":0,"data":1}${gap}`,
    ])
      t.match(await read(text), { ok: length <= 1024 * 1024 }, `${length}: ${text.trim().slice(0, 20)}`)
  }
})

t.test('all other bytes are invalid, with a reason', async (t) => {
  const refused: Record<string, string[]> = {
    'not JSON': [
      '',
      '{"error":0,"data":{"items":[',
      '{"error":0,"data":1}x',
      '{"error":0,"data":1}{}',
      '<html></html>',
      '401 Unauthorized',
    ],
    'not an object': ['[{"error":0,"data":1}]', '"x"', '0', 'null', 'true'],
    'no error number': [
      '{}',
      '{"data":1}',
      '{"error":null,"data":1}',
      '{"error":0.5,"data":1}',
      '{"error":-1,"data":1}',
      '{"error":1e400,"data":1}',
      '{"error":"x","data":1}',
      '{"error":"","data":1}',
      '{"error":" 7","data":1}',
      '{"__proto__":{"error":0},"data":1}',
    ],
    'neither data nor message': ['{"error":0}', '{"error":1000,"msg":"x"}', '{"error":0,"__proto__":{"data":1}}'],
  }
  for (const [reason, texts] of Object.entries(refused)) {
    for (const text of texts) t.strictSame(await read(text), { ok: false, reason }, text)
  }
})

t.test('bytes that are not UTF-8, and a byte order mark, are invalid', async (t) => {
  const bytes = Buffer.concat([Buffer.from('{"error":0,"data":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
  t.strictSame(await readEnvelopeInTurns(bytes), { ok: false, reason: 'not UTF-8' })
  t.strictSame(await readEnvelopeInTurns(Buffer.from('{"error":0,"data":1}', 'utf16le')), {
    ok: false,
    reason: 'not JSON',
  })
  t.strictSame(await read('\ufeff{"error":0,"data":1}'), { ok: false, reason: 'not JSON' })
})

t.test('every recorded JSON response is an envelope, and no longer if it is truncated', async (t) => {
  const lines = readFileSync(new URL('../../contract/exchanges/real-cluster.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const bodies = lines
    .map((line) => (JSON.parse(line) as { response: { body?: string } }).response.body ?? '')
    .filter((body) => body.startsWith('{'))
  t.ok(bodies.length > 500)
  for (const body of bodies) {
    const expected = Number((JSON.parse(body) as { error: unknown }).error)
    t.match(await read(body), { ok: true, error: expected })
  }
  for (const body of bodies.slice(0, 50)) {
    t.match(await read(body.trimEnd().slice(0, -1)), { ok: false })
    t.match(await read(body.slice(0, body.length / 2)), { ok: false })
  }
})

const errorOf = (text: string) => errorNumberOf(nodeResponse(Buffer.from(text)))

t.test('error 0 is success in every spelling', async (t) => {
  t.equal(errorOf('{"error":0,"data":{"items":[]}}'), 0)
  t.equal(errorOf('{ "data": {}, "error": 0 }'), 0)
  t.equal(errorOf('{"error":"0","message":"done"}'), 0)
})

t.test('errors within data are not the error of the response', async (t) => {
  t.equal(errorOf('{"error":0,"data":{"items":[{"level":"error"},{"level":"error" }]}}'), 0)
  t.equal(errorOf('{"error":0,"data":{"failed_ids":[{"id":"001","error":{"code":1701}}]}}'), 0)
})

t.test('two members named error are refused: clients take the last one', async (t) => {
  t.match(await read('{"error":0,"data":{"level":"error"},"error":1701}'), { ok: false })
  t.match(await read('{"error":0,"data":{},"error" : 1701}'), { ok: false })
  t.match(await read('{"error":1701,"data":{},"error":0}'), { ok: false })
})

t.test('an error as text has a number too', async (t) => {
  t.equal(errorOf('{"error":"607","message":"Content-Type"}'), 607)
  t.equal(errorOf('{"error":"Undefined error.","message":""}'), 623)
  t.equal(errorOf('{"error":"something else","message":""}'), 1000)
  t.equal(errorOf('{"error":null,"message":""}'), 1000, 'null is not zero')
})

t.test('entity tags are strong and depend on the bytes', async (t) => {
  t.match(await etagOf(Buffer.from('a')), /^"[\w-]{27}"$/)
  t.equal(await etagOf(Buffer.from('a')), await etagOf(Buffer.from('a')))
  t.not(await etagOf(Buffer.from('a')), await etagOf(Buffer.from('b')))
})

t.test('a response with an error in its envelope is not storable', async (t) => {
  const isStored = (text: string) => isStorable(nodeResponse(Buffer.from(text)))
  t.equal(isStored('{"error":0,"data":{"items":[{"error":"12"}]}}'), true, 'data may have a field named error')
  t.equal(isStored('{"error":0,"data":{},"error":1701}'), false)
  t.equal(isStored('{"error":1701,"data":{}}'), false)
})

t.test('failed nodes are named by a member of data, not by a text or within a row', async (t) => {
  const isStored = async (text: string) => {
    const body = Buffer.from(text)
    const envelope = await readEnvelopeInTurns(body)
    if (!envelope.ok) throw new Error(`no envelope: ${text}`)
    const { namesFailedNodes } = envelope
    return isStorable({ ...nodeResponse(body), origin: { ...OF_NODE, namesFailedNodes } })
  }
  t.equal(await isStored('{"error":0,"data":{"items":[{"level":"failed_nodes"}],"totalItems":1}}'), true)
  t.equal(await isStored('{"error":0,"data":{"items":[{"failed_nodes":[]}],"totalItems":1}}'), true)
  t.equal(await isStored('{"error":0,"data":"failed_nodes"}'), true)
  t.equal(await isStored('{"error":0,"data":{"failed_nodes":{}}}'), false)
  t.equal(await isStored('{"error":0,"data":{"items":[],"totalItems":0,"failed_nodes":[]}}'), false)
  t.equal(await isStored('{"error":0,"data":{"failed_nodes":[],"items":[],"totalItems":0}}'), false)
  t.equal(await isStored('{"error":0,"data":{"failed_node\\u0073":[],"items":[],"totalItems":0}}'), false)
})
