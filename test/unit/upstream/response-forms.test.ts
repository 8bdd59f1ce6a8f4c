/**
 * The forms in which a node may send a response: interim responses, framings, content codings and ages, in every combination
 * and in pieces of several sizes. The edge must take what a plain reader of RFC 9110, 9111 and 9112 takes.
 */
import net from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { clusterOf, get, listen, put } from './fake-node.ts'
import { readPlainly } from './plain-reader.ts'

const BODY = Buffer.from('{"error":0,"data":{"items":[{"id":"HTTP/1.1 100 Continue\\r\\n\\r\\n"}],"totalItems":1}}')
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const PROCESSING = 'HTTP/1.1 102 Processing\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX-A: b\r\n\r\n'

const interims = {
  none: '',
  100: CONTINUE,
  '100 without a reason': 'HTTP/1.1 100 \r\nServer: a\r\n\r\n',
  101: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
  '101 without an upgrade': 'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  102: PROCESSING,
  103: HINTS,
  199: 'HTTP/1.1 199 Odd\r\n\r\n',
  'all of them, twice': `${CONTINUE}${PROCESSING}${HINTS}`.repeat(2),
  'a flood': PROCESSING.repeat(2000),
  'with a CR in a header': 'HTTP/1.1 103 Early Hints\r\nX-A: a\rb\r\n\r\n',
}

interface Framing {
  readonly header: string
  readonly body: Buffer
  /** The node closes the connection. */
  readonly ends?: true
}

const chunked = (...parts: Buffer[]) =>
  Buffer.concat(
    [...parts, Buffer.alloc(0)].flatMap((part) =>
      [`${part.length.toString(16)}\r\n`, part, '\r\n'].map((each) => Buffer.from(each)),
    ),
  )
const half = BODY.subarray(0, BODY.length / 2)

const framings: Record<string, Framing> = {
  length: { header: `Content-Length: ${BODY.length}\r\n`, body: BODY },
  'length, then close': { header: `Content-Length: ${BODY.length}\r\nConnection: close\r\n`, body: BODY, ends: true },
  'length, cut': { header: `Content-Length: ${BODY.length}\r\n`, body: half, ends: true },
  chunked: { header: 'Transfer-Encoding: chunked\r\n', body: chunked(BODY) },
  'several chunks': { header: 'Transfer-Encoding: Chunked\r\n', body: chunked(half, BODY.subarray(half.length)) },
  'chunked, cut': { header: 'Transfer-Encoding: chunked\r\n', body: chunked(half).subarray(0, -5), ends: true },
  close: { header: '', body: BODY, ends: true },
  'close, announced': { header: 'Connection: close\r\n', body: BODY, ends: true },
  'close, cut': { header: '', body: half, ends: true },
  'length and chunked': {
    header: `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`,
    body: chunked(BODY),
    ends: true,
  },
  'an unknown transfer coding': { header: 'Transfer-Encoding: gzip\r\n', body: BODY, ends: true },
}

const codings = ['', 'identity', 'Identity , identity', 'gzip', 'identity, br'].map((coding) =>
  coding === '' ? '' : `Content-Encoding: ${coding}\r\n`,
)
const ages = ['', '0', '30', '31, 5', '-1', '1.5', 'x', '9999999999999999999'].map((age) =>
  age === '' ? '' : `Age: ${age}\r\n`,
)
/** Bytes that are written at once. */
const pieces = [Number.POSITIVE_INFINITY, 1, 40, 7]

interface Form {
  readonly name: string
  readonly bytes: Buffer
  readonly ends: boolean
  readonly piece: number
}

function formsOf(): Form[] {
  const forms: Form[] = []
  for (const [interim, first] of Object.entries(interims))
    for (const [framing, { header, body, ends = false }] of Object.entries(framings))
      for (const coding of codings) {
        const age = ages[forms.length % ages.length] ?? ''
        const piece = interim === 'a flood' ? 4096 : (pieces[forms.length % pieces.length] ?? 1)
        const head = `${first}HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${coding}${age}${header}\r\n`
        const name = `interim ${interim}; ${framing}; ${coding.trim()}; ${age.trim()}; pieces of ${piece}`
        forms.push({ name, bytes: Buffer.concat([Buffer.from(head), body]), ends, piece })
      }
  return forms
}

/** Answers `/n` with the form of this number. */
async function nodeOf(t: Pick<Tap, 'teardown'>, forms: readonly Form[]) {
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined)
    let head = ''
    socket.on('data', async (chunk) => {
      head += chunk
      if (!head.endsWith('\r\n\r\n')) return
      const form = forms[Number(/^\w+ \/(\d+)/.exec(head)?.[1])]
      head = ''
      if (form === undefined) return
      const { bytes, ends, piece } = form
      for (let at = 0; at < bytes.length && socket.writable; at += piece) {
        socket.write(bytes.subarray(at, at + piece))
        await turn()
      }
      if (ends) socket.end()
    })
  })
  return listen(t, server)
}

type Tap = typeof t

t.test('reads and writes take what a plain reader takes', async (t) => {
  const forms = formsOf()
  const node = await nodeOf(t, forms)
  const many = { failures: 1e6, refusals: 1e6, unreadable: 1e6 }
  const cluster = clusterOf(t, node.url, { ejection: many, limits: { inFlight: 8 } })
  let taken = 0
  for (const [index, { name, bytes, ends }] of forms.entries()) {
    const plain = readPlainly(bytes, ends)
    if (plain !== undefined) taken += 1
    const expected =
      plain === undefined
        ? { ok: false, fault: 'unreadable' }
        : { ok: true, response: { status: 200, body: plain.body, ...(plain.age > 0 && { age: plain.age * 1000 }) } }
    const call = index % 3 === 0 ? put(`/${index}`) : get(`/${index}`)
    const result = await cluster.call(call)
    // The dialects check whether a body that ends with its connection is complete.
    const isCut = result.ok && plain === undefined && !isComplete(result.response.body)
    if (!isCut) t.match(result, expected, name)
    if (plain?.age === 0) t.notOk(result.ok && result.response.age, name)
  }
  t.ok(taken > 100 && taken < forms.length, `${taken} of ${forms.length} forms are taken`)
})

function isComplete(body: unknown): boolean {
  try {
    JSON.parse(String(body))
    return true
  } catch {
    return false
  }
}
