/** Sends streams to the HTTP server of an edge and to the oracle, and compares number, order and kind of the responses. */
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Handler } from '../../../../src/core/request.ts'
import { basic, cachedResponse, startServer, uncachedResponse } from '../test-server.ts'
import { type Answer, startOracle } from './oracle.ts'
import { type Stream, streamOf } from './streams.ts'

/** Faults that the comparison must find. */
export const FAULTS = ['swallow', 'repeated header'] as const
export type Fault = (typeof FAULTS)[number]

export interface Comparison {
  readonly streams: number
  readonly responses: number
  readonly rejections: number
  readonly differences: readonly Difference[]
}

export interface Difference {
  readonly stream: Stream
  readonly edge: readonly string[]
  readonly oracle: readonly string[]
}

interface ComparedStreams {
  readonly streams: number
  readonly seed: number
  /** Plants a fault: `swallow` ignores what follows the first request of a repeated chunk. */
  readonly planted?: Fault
  /** Called after each 1,000 streams. */
  readonly onProgress?: (done: number) => void
}

interface Server {
  readonly port: number
  isSettled(client: Socket): boolean
}

const CONCURRENT_STREAMS = 8
const AUTHORIZATION = basic('alice')

const handle: Handler = ({ endpoint: { method }, query }) => {
  const body = Buffer.from(JSON.stringify({ error: 0, data: `${method} ${query.offset ?? ''}` }))
  return method === 'GET' ? cachedResponse(body) : uncachedResponse(body)
}

/** The data of the responses to valid requests, without code of the edge. The API ignores a slash at the end of a path. */
const answer: Answer = ({ method = '', url = '', headers }) => {
  if (headers.authorization !== AUTHORIZATION) return undefined
  const [, offset] = /^\/agents\/?\?offset=([0-5])$/.exec(url) ?? []
  if (offset !== undefined && (method === 'GET' || method === 'HEAD')) return `GET ${offset}`
  // A changed slash of `http://edge/agents?offset=0` makes the path a part of the host. The root has no parameter.
  if (/^\/\?offset=[0-5]$/.test(url) && (method === 'GET' || method === 'HEAD')) return 'GET '
  const isKnown = /^(?:POST \/security\/user\/authenticate|DELETE \/agents\/groups\/\w+)\/?$/.test(`${method} ${url}`)
  return isKnown ? `${method} ` : undefined
}

export async function compareStreams({ streams, seed, planted, onProgress }: ComparedStreams): Promise<Comparison> {
  const closings: (() => unknown)[] = []
  const timeouts = { headers: 60_000, body: 60_000, write: 60_000, expect: 60_000, idle: 60_000 }
  const edge = await startServer({ teardown: (end) => closings.push(end) }, handle, {}, { timeouts })
  const oracle = await startOracle(answer, planted === 'swallow' ? undefined : planted)
  closings.push(oracle.close)
  let [started, done, responses, rejections] = [0, 0, 0, 0]
  const differences: Difference[] = []
  const compareNext = async (): Promise<void> => {
    while (started < streams) {
      const stream = streamOf(seed + started)
      started += 1
      const found = await Promise.all([run(edge, stream, planted === 'swallow'), run(oracle, stream, false)])
      responses += found[1].length
      rejections += found[1].filter((kind) => kind.startsWith('rejected')).length
      if (!isSame(stream, ...found)) differences.push({ stream, edge: found[0], oracle: found[1] })
      done += 1
      if (done % 1000 === 0) onProgress?.(done)
    }
  }
  try {
    await Promise.all(Array.from({ length: CONCURRENT_STREAMS }, compareNext))
  } finally {
    for (const close of closings) await close()
  }
  return { streams, responses, rejections, differences }
}

/**
 * Before a reset, one of the servers may have sent less. A request that is answered without its body may be rejected instead
 * if the body is broken: the edge sees the fault first if an earlier request is still being answered.
 */
function isSame(stream: Stream, edge: readonly string[], oracle: readonly string[]): boolean {
  const at = oracle.indexOf(REJECTED_TOO)
  if (at < 0) return isEqual(stream, edge, oracle)
  const rejected = [...oracle.slice(0, at), 'rejected']
  return (
    isEqual(stream, edge, rejected) ||
    isEqual(
      stream,
      edge,
      rejected.filter((_, nth) => nth !== at - 1),
    )
  )
}

function isEqual({ ending }: Stream, edge: readonly string[], oracle: readonly string[]): boolean {
  const length = ending === 'reset' ? Math.min(edge.length, oracle.length) : Math.max(edge.length, oracle.length)
  return isDeepStrictEqual(edge.slice(0, length), oracle.slice(0, length))
}

/** Returns the kinds of the responses to the stream, in order. */
async function run(server: Server, { chunks, ending }: Stream, swallows: boolean): Promise<string[]> {
  const client = connect(server.port, '127.0.0.1').setNoDelay()
  let text = ''
  client.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  client.on('error', () => undefined)
  const closed = new Promise((resolve) => client.once('close', resolve))
  await Promise.race([closed, new Promise((resolve) => client.once('connect', resolve))])
  const sent = new Set<string>()
  for (const { bytes, waits } of chunks) {
    const key = bytes.toString('latin1')
    const swallowed = swallows && sent.has(key) ? bytes.indexOf('\r\n\r\n') : -1
    sent.add(key)
    if (client.writable) client.write(swallowed < 0 ? bytes : bytes.subarray(0, swallowed + 4))
    if (waits) await settled(server, client)
  }
  await settled(server, client)
  if (ending === 'reset') client.resetAndDestroy()
  else client.end()
  await closed
  return kindsOf(text)
}

/** Only a server that does not answer takes this long. */
const PATIENCE_MS = 60_000

async function settled(server: Server, client: Socket): Promise<void> {
  const begin = performance.now()
  while (!server.isSettled(client)) {
    if (performance.now() - begin > PATIENCE_MS) throw new Error('a server has not answered')
    await turn()
  }
}

/** The codes of the edge for requests after which it closes the connection. */
const REJECTIONS: readonly unknown[] = [607, 614, 900, 905, 906, 907, 908, 909, 910]

/** Only the oracle says this: the response before it belongs to the same request. */
const REJECTED_TOO = 'rejected too'

/** Returns the kind of each response: its data, `head`, `rejected`, `rejected too`, `other`, or `100`. */
function kindsOf(text: string): string[] {
  const kinds: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) return [...kinds, 'incomplete']
    const head = text.slice(at, end)
    const status = Number(head.slice(9, 12))
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    const isClosing = /^connection: close/im.test(head)
    at = end + 4
    // The response to a HEAD has a length and no body.
    const body = text.startsWith('HTTP/1.1 ', at) ? '' : text.slice(at, at + length)
    at += body.length
    kinds.push(status === 100 ? '100' : kindOf(status, isClosing, body))
  }
  return kinds
}

function kindOf(status: number, isClosing: boolean, body: string): string {
  if (body === '') return status === 200 ? 'head' : isClosing ? 'rejected' : 'other'
  if (!body.startsWith('{')) return 'other'
  const { error, data, answeredBefore } = JSON.parse(body) as Readonly<Record<string, unknown>>
  if (answeredBefore === true) return REJECTED_TOO
  if (error === 0) return `${status} ${data}`
  return isClosing && REJECTIONS.includes(error) ? 'rejected' : 'other'
}
