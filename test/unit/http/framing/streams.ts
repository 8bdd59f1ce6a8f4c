/** Random streams of bytes for one connection: good, bad and partial requests, in chunks that repeat. */
import { createRandom, type Random } from '../../../faults/coherence/random.ts'
import { filler } from '../../listener/framing-rows.ts'
import { basic } from '../test-server.ts'

/** How the client ends the connection. */
export type Ending = 'half-close' | 'reset'

export interface Stream {
  readonly seed: number
  readonly chunks: readonly Chunk[]
  readonly ending: Ending
}

export interface Chunk {
  readonly bytes: Buffer
  /** The client waits until the server has answered what it can, before it sends the next chunk. */
  readonly waits: boolean
}

const AUTHORIZATION = `Authorization: ${basic('alice')}`
/** URLs that become prepared hits. */
const URLS = Array.from({ length: 6 }, (_, offset) => `/agents?offset=${offset}`)

type Piece = (random: Random) => string

const head = (line: string, ...headers: readonly string[]) =>
  [line, 'Host: edge', AUTHORIZATION, ...headers, '', ''].join('\r\n')
const get = (random: Random, ...headers: readonly string[]) => head(`GET ${random.of(URLS)} HTTP/1.1`, ...headers)
const lengthOf = (body: string) => `Content-Length: ${body.length}`
const chunked = (body: string, extension = '') => `${body.length.toString(16)}${extension}\r\n${body}\r\n0\r\n\r\n`
const POST = 'POST /security/user/authenticate HTTP/1.1'
const JSON_TYPE = 'Content-Type: application/json'
/** What Java clients send with each request on plain HTTP. */
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']
const absolute = (request: string, authority: string) => request.replace(' /', ` ${authority}/`)
/** A body that would be a request if its length were not respected. */
const HIDDEN = head('DELETE /agents/groups/hidden HTTP/1.1')

const good: readonly Piece[] = [
  get,
  get,
  get,
  (random) => get(random, `traceparent: 00-${random.below(2 ** 31)}`),
  (random) => get(random).replace('GET', 'HEAD'),
  (random) => `\r\n${get(random)}`,
  (random) => `${get(random, lengthOf('{}'))}{}`,
  (random) => get(random, 'Transfer-Encoding: chunked') + chunked('{}', random.of(['', ';a=b'])),
  (random) => `${get(random, lengthOf(HIDDEN))}${HIDDEN}`,
  (random) => get(random, 'Transfer-Encoding: chunked') + chunked(HIDDEN),
  (random) => get(random).replace(AUTHORIZATION, 'Authorization: Basic bm8='),
  () => head('DELETE /agents/groups/g1 HTTP/1.1'),
  () => `${head(POST, JSON_TYPE, lengthOf('{}'))}{}`,
  () => head(POST, JSON_TYPE, 'Transfer-Encoding: chunked') + chunked('{}'),
  () => `${head(POST, JSON_TYPE, 'Expect: 100-continue', lengthOf('{}'))}{}`,
  (random) => absolute(get(random), random.of(['http://edge', 'HTTP://edge:8080', 'https://other'])),
  () => absolute(`${head(POST, JSON_TYPE, lengthOf('{}'))}{}`, 'http://edge'),
]

const last: readonly Piece[] = [
  (random) => get(random, 'Connection: close'),
  (random) => get(random).replace('HTTP/1.1', 'HTTP/1.0'),
  (random) => get(random, ...H2C),
  () => `${head(POST, JSON_TYPE, ...H2C, lengthOf('{}'))}{}`,
  () => head(POST, JSON_TYPE, ...H2C, 'Transfer-Encoding: chunked') + chunked('{}'),
  () => `${head(POST, JSON_TYPE, 'Expect: 100-continue', lengthOf('{}')).replace(AUTHORIZATION, 'A: b')}{}`,
]

const bad: readonly Piece[] = [
  () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  () => '\0\xff\x80\x01',
  () => 'GARBAGE\r\n\r\n',
  () => 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n',
  () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  (random) => get(random, 'Connection: Upgrade', 'Upgrade: h2c, websocket'),
  (random) => get(random, 'Connection: Upgrade', 'Upgrade: websocket'),
  (random) => get(random, 'Host: other'),
  (random) => get(random).replace('Host: edge\r\n', ''),
  (random) => get(random).replace('Host: edge', 'Host: a@evil'),
  (random) => get(random, AUTHORIZATION),
  (random) => get(random, 'Content-Length: 5', 'Transfer-Encoding: chunked') + chunked(''),
  (random) => get(random, 'Transfer-Encoding: identity, chunked') + chunked(''),
  (random) => get(random, 'Transfer-Encoding: xchunked') + chunked(''),
  (random) => get(random, 'Content-Length: +1'),
  (random) => get(random, 'Content-Length: 1', 'Content-Length: 2'),
  (random) => get(random, 'X-A: a\0b'),
  (random) => get(random, 'X-A: a\r\n b'),
  (random) => get(random, 'X A: a'),
  (random) => get(random).replaceAll('\r\n', '\n'),
  (random) => get(random, filler('A', 20_000).trimEnd()),
  (random) => get(random, 'Expect: something'),
  (random) => `GET ${random.of(URLS)}\r\n\r\n`,
  (random) => get(random).replace('HTTP/1.1', 'HTTP/2.0'),
  (random) => absolute(get(random), random.of(['http://edge@evil', 'http://', 'http://edge:x', 'ftp://edge'])),
  (random) => get(random).replace(/^GET \S+/, 'OPTIONS *'),
  (random) => get(random).replace(/^GET/, 'TRACE'),
  (random) => `${get(random, lengthOf('ab')).replace('GET', 'HEAD')}ab`,
  (random) => `${get(random, 'Transfer-Encoding: chunked')}2\n{}\r\n0\r\n\r\n`,
  () => `${head(POST, JSON_TYPE, 'Transfer-Encoding: chunked')}11111111111111111\r\n{}`,
]

/** Requests that end too early; what follows in the stream belongs to them. */
const partial: readonly Piece[] = [
  () => 'GET /agents HT',
  (random) => get(random).slice(0, -2),
  (random) => get(random, lengthOf(HIDDEN)) + HIDDEN.slice(0, 20),
  (random) => `${get(random, 'Transfer-Encoding: chunked')}4\r\n{}`,
]

/** So many streams share chunks: what a server remembers of one connection must not change how it reads another one. */
const SHARING_STREAMS = 100
const SHARED_CHUNKS = 4

/** Returns chunks of a good request with something bad behind it. */
function sharedChunks(seed: number): string[] {
  const random = createRandom(2 ** 31 + Math.floor(seed / SHARING_STREAMS))
  return Array.from({ length: SHARED_CHUNKS }, () => get(random) + random.of([...bad, ...partial])(random))
}

export function streamOf(seed: number): Stream {
  const random = createRandom(seed)
  const shared = sharedChunks(seed)
  const chunks: Chunk[] = []
  const count = 1 + random.below(6)
  while (chunks.length < count) {
    const isShared = random.chance(0.2)
    // Behind plain requests, which a server may know already.
    for (let before = isShared ? random.below(4) : 0; before > 0; before -= 1)
      chunks.push({ bytes: Buffer.from(get(random)), waits: true })
    const whole = isShared ? random.of(shared) : chunkOf(random)
    const text = !isShared && random.chance(0.15) ? changed(whole, random) : whole
    // The same holds for the chunks of one connection.
    const times = random.chance(0.5) ? 1 : 2 + random.below(4)
    const at = random.chance(0.3) ? random.below(text.length) : 0
    for (let time = 0; time < times; time += 1) {
      for (const part of at === 0 ? [text] : [text.slice(0, at), text.slice(at)])
        chunks.push({ bytes: Buffer.from(part, 'latin1'), waits: random.chance(0.8) })
    }
  }
  return { seed, chunks, ending: random.chance(0.8) ? 'half-close' : 'reset' }
}

function chunkOf(random: Random): string {
  const pieces = Array.from({ length: random.chance(0.6) ? 1 : 1 + random.below(4) }, () => random.of(good)(random))
  if (random.chance(0.3)) pieces.push(random.of(random.of([bad, bad, bad, last, partial]))(random))
  return pieces.join('')
}

/**
 * Returns the text with one byte replaced. Some bytes stay: the oracle knows neither types of bodies nor other routes, which
 * read a body too, and credentials without padding are the same credentials.
 */
function changed(text: string, random: Random): string {
  const at = random.below(text.length)
  const line = text.slice(text.lastIndexOf('\n', at - 1) + 1)
  // A request line may follow the body of the request before, which ends without a line break.
  const isRoute = /^[^\n]*?[A-Z]+ \S*\//.test(line) && /Content-Length|Transfer-Encoding/.test(text)
  if (isRoute || text.includes('POST ') || text[at] === '=') return text
  return text.slice(0, at) + random.of([' ', '\r', '\n', 'x', ':', '\0', '/']) + text.slice(at + 1)
}
