/**
 * Sends the calls of many clients over few sockets: one connection for each call in flight, reused by the next call.
 * Ten thousand idle connections would measure the operating system and not the edge.
 */
import { Pool } from 'undici'
import { WrongResponseError } from '../verify.ts'
import { arrivals, type ClientCall, type Mix } from './calls.ts'

export interface Taken {
  /** Milliseconds from the due time of a call to the last byte of its response. */
  readonly times: number[]
  /** `Age` of hits in seconds. */
  readonly ages: number[]
  /** Responses other than 200 by status; `none`: no response before the client's timeout. */
  readonly failed: Map<string, number>
  readonly failedByKind: Map<string, number>
  /** Rejected requests, by milliseconds until the rejection. */
  readonly refusedAfter: number[]
}

export interface Load {
  readonly urls: readonly string[]
  readonly mix: Mix
  readonly authorization: (call: ClientCall) => string
  /** The client's timeout in milliseconds. */
  readonly clientTimeout: number
  /** Whether reads must have the header `Cache-Status`. */
  readonly throughEdge: boolean
}

/**
 * Runs for the given number of seconds and until all started calls have ended. Throws WrongResponseError if a response
 * with status 200 is another one than its call is for.
 */
export async function run(
  { urls, mix, authorization, clientTimeout, throughEdge }: Load,
  seconds: number,
): Promise<Taken> {
  const pools = urls.map(
    (url) => new Pool(url, { pipelining: 1, headersTimeout: clientTimeout, bodyTimeout: clientTimeout }),
  )
  const taken = empty()
  const wrong: string[] = []
  const under = new Set<Promise<void>>()
  let turn = 0
  const ask = async (call: ClientCall): Promise<boolean> => {
    const pool = pools[turn++ % pools.length]
    const began = performance.now()
    try {
      const reply = await pool?.request({
        method: call.method,
        path: call.path,
        headers: { authorization: authorization(call), 'wazuh-app-version': '3.11.5' },
        signal: AbortSignal.timeout(clientTimeout),
      })
      if (reply === undefined) return false
      const body = Buffer.from(await reply.body.arrayBuffer())
      const fault = reply.statusCode === 200 ? faultOf(reply.headers, body, throughEdge && call.method === 'GET') : ''
      if (fault !== '') wrong.push(`${call.method} ${call.path}: ${fault}`)
      note(taken, call, reply.statusCode, performance.now() - began, reply.headers.age)
      return reply.statusCode === 200
    } catch {
      note(taken, call, 'none', performance.now() - began, undefined)
      return false
    }
  }
  const begin = (calls: readonly ClientCall[], sequence: boolean) => {
    const one = sequence ? inSequence(calls, ask) : Promise.all(calls.map(ask)).then(() => undefined)
    under.add(one)
    void one.finally(() => under.delete(one))
  }
  const stop = arrivals(mix, begin)
  await new Promise((done) => setTimeout(done, seconds * 1000))
  stop()
  await Promise.all(under)
  await Promise.all(pools.map((pool) => pool.destroy()))
  if (wrong.length > 0) throw new WrongResponseError(`${wrong.length} wrong responses, such as ${wrong[0]}`)
  return taken
}

const SUCCESS = '{"error":0,'

/** Returns what is wrong with a response, or an empty text. */
function faultOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: Buffer,
  isRead: boolean,
): string {
  const { 'content-length': length, 'content-encoding': encoding, 'cache-status': cacheStatus } = headers
  if (length !== undefined && Number(length) !== body.length) return `${body.length} bytes of ${length}`
  if (encoding !== undefined) return `encoding ${encoding}`
  if (isRead && cacheStatus === undefined) return 'no Cache-Status'
  return body.toString('latin1', 0, SUCCESS.length) === SUCCESS ? '' : body.toString('utf8', 0, 100)
}

/** Runs the calls in sequence and stops at the first failure. */
async function inSequence(calls: readonly ClientCall[], ask: (call: ClientCall) => Promise<boolean>): Promise<void> {
  for (const call of calls) if (!(await ask(call))) return
}

function empty(): Taken {
  return { times: [], ages: [], failed: new Map(), failedByKind: new Map(), refusedAfter: [] }
}

function note(taken: Taken, { kind }: ClientCall, status: number | 'none', time: number, age: unknown): void {
  taken.times.push(time)
  if (typeof age === 'string') taken.ages.push(Number(age))
  if (status === 200) return
  const add = (to: Map<string, number>, key: string) => to.set(key, (to.get(key) ?? 0) + 1)
  add(taken.failed, String(status))
  add(taken.failedByKind, kind)
  if (status === 503) taken.refusedAfter.push(time)
}

/** Returns a quantile of the values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
