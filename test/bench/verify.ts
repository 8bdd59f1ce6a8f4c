/**
 * Checks that a benchmark measures the responses that its rows name. Every case is requested before and after its run,
 * with the headers of the run, and the totals of the load generator must fit the same response. A benchmark ends with
 * an error otherwise: a figure for another response is worse than none.
 */
import { type IncomingHttpHeaders, request as overHttp } from 'node:http'
import { request as overTls } from 'node:https'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

export interface ExpectedResponse {
  readonly status: number
  /** Bytes of the body without its content coding. */
  readonly length: number
  /** Absent: the response must have no content coding. */
  readonly encoding?: 'gzip' | 'br'
  /** Absent: the server has no such header. */
  readonly cacheStatus?: RegExp
}

/** A request of a case, with what it must return. */
export interface Probe {
  readonly name: string
  /** A function returns another URL for each request. */
  readonly url: string | (() => string)
  readonly headers: Readonly<Record<string, string>>
  readonly expected: ExpectedResponse
}

/** A response as it was sent. */
export interface SentResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Totals of a load generator. */
export interface Totals {
  readonly responses: number
  /** Responses with another status than the expected one, and requests without a response. */
  readonly failures: number
  /** Received bytes with the headers, about. */
  readonly bytes: number
}

const MAX_HEADER_BYTES = 2048

export class WrongResponseError extends Error {}

/** Runs the work between two checks of the probe. Throws WrongResponseError. */
export async function verified<T>(probe: Probe, work: (sent: SentResponse) => Promise<T>): Promise<T> {
  const before = await checkProbe(probe)
  const result = await work(before)
  await checkProbe(probe)
  return result
}

/** Sends the request once and checks the response. Throws WrongResponseError. */
export async function checkProbe(probe: Probe): Promise<SentResponse> {
  const sent = await send(probe)
  checkResponse(probe.name, probe.expected, sent)
  return sent
}

/** Throws WrongResponseError with everything that differs. */
export function checkResponse(name: string, expected: ExpectedResponse, { status, headers, body }: SentResponse): void {
  const encoding = headers['content-encoding']
  const cacheStatus = headers['cache-status']
  const faults = [
    status === expected.status ? '' : `status ${status} instead of ${expected.status}`,
    encoding === expected.encoding ? '' : `encoding ${encoding} instead of ${expected.encoding}`,
    isCacheStatus(cacheStatus, expected.cacheStatus)
      ? ''
      : `Cache-Status ${cacheStatus} instead of ${expected.cacheStatus ?? 'none'}`,
  ].filter(Boolean)
  if (faults.length === 0) {
    const length = decode(encoding, body).length
    if (length !== expected.length) faults.push(`${length} bytes instead of ${expected.length}`)
  }
  if (faults.length > 0) {
    throw new WrongResponseError(`${name}: ${faults.join(', ')}: ${body.toString('latin1', 0, 100)}`)
  }
}

/** Throws WrongResponseError if the totals cannot be those of this response. */
export function checkTotals(name: string, { responses, failures, bytes }: Totals, sent: SentResponse): void {
  if (responses === 0) throw new WrongResponseError(`${name}: no responses`)
  if (failures > 0) throw new WrongResponseError(`${name}: ${failures} of ${responses} responses were different`)
  // The generator counts the bytes of responses that are incomplete when its time is over.
  const mean = bytes / responses
  const [least, most] = [0.7 * sent.body.length, 1.5 * sent.body.length + MAX_HEADER_BYTES]
  if (mean < least || mean > most) {
    const text = `${Math.round(mean)} bytes for each response, which has ${sent.body.length}`
    throw new WrongResponseError(`${name}: the load generator received ${text}`)
  }
}

function isCacheStatus(value: string | string[] | undefined, expected: RegExp | undefined): boolean {
  return expected === undefined ? value === undefined : expected.test(String(value))
}

function decode(encoding: string | undefined, body: Buffer): Buffer {
  if (encoding === 'gzip') return gunzipSync(body)
  return encoding === 'br' ? brotliDecompressSync(body) : body
}

function send({ url: given, headers }: Probe): Promise<SentResponse> {
  const url = typeof given === 'string' ? given : given()
  const request = url.startsWith('https:') ? overTls : overHttp
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers, agent: false, rejectUnauthorized: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}
