import { readFileSync } from 'node:fs'
import t from 'tap'
import { readEnvelope } from '../../../src/core/envelope.ts'

const read = (text: string) => readEnvelope(Buffer.from(text))

t.test('whole envelopes are read', async (t) => {
  t.strictSame(read('{"error":0,"data":{"items":[],"totalItems":0}}'), { ok: true, error: 0 })
  t.strictSame(read('{"error":0,"data":""}'), { ok: true, error: 0 })
  t.strictSame(read(' {"message":"Agent does not exist","error":1701}\n'), { ok: true, error: 1701 })
})

t.test('the two texts that the real API sends in place of a number are read', async (t) => {
  t.strictSame(read('{"error":"607","message":"Invalid content-type"}'), { ok: true, error: 607 })
  t.strictSame(read('{"error":"Undefined error.","message":""}'), { ok: true, error: 623 })
})

t.test('everything else is refused with a reason', async (t) => {
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
    for (const text of texts) t.strictSame(read(text), { ok: false, reason }, text)
  }
})

t.test('bytes that are not UTF-8, and a byte order mark in front, are refused', async (t) => {
  const bytes = Buffer.concat([Buffer.from('{"error":0,"data":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
  t.strictSame(readEnvelope(bytes), { ok: false, reason: 'not UTF-8' })
  t.strictSame(readEnvelope(Buffer.from('{"error":0,"data":1}', 'utf16le')), { ok: false, reason: 'not JSON' })
  t.strictSame(read('\ufeff{"error":0,"data":1}'), { ok: false, reason: 'not JSON' })
})

t.test('every recorded JSON answer is an envelope, cut anywhere it is none', async (t) => {
  const lines = readFileSync(new URL('../../contract/exchanges/real-cluster.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const bodies = lines
    .map((line) => (JSON.parse(line) as { response: { body?: string } }).response.body ?? '')
    .filter((body) => body.startsWith('{'))
  t.ok(bodies.length > 500)
  for (const body of bodies) {
    const expected = Number((JSON.parse(body) as { error: unknown }).error)
    t.match(read(body), { ok: true, error: expected })
  }
  for (const body of bodies.slice(0, 50)) {
    t.match(read(body.trimEnd().slice(0, -1)), { ok: false })
    t.match(read(body.slice(0, body.length / 2)), { ok: false })
  }
})
