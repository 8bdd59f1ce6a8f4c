import { errorNumberOf, parseEnvelope, TRANSIENT_ERRORS } from '../core/envelope.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'

/** What one node gave to a joined answer, as a value: that it failed is no reason for the others to fail. */

export interface Good {
  readonly ok: true
  readonly bytes: Buffer
  /** It was kept; `stale`: and is no more than the last that was heard of the node. */
  readonly hit: boolean
  readonly stale?: string
  /** It speaks to one caller alone. */
  readonly personal?: true
  /** The moment (performance.now) from which it is. */
  readonly asOf: number
}

/** What a client hears of it: a code and a message; `word` is that of RFC 9209 section 2.3. */
export interface Fault {
  readonly code: number
  readonly message: string
  readonly word: string
  /** The node answered, with an error of its own: this. */
  readonly answered?: Extract<EdgeResponse, { kind: 'json' }>
  /** The edge's own error. */
  readonly thrown?: EdgeError
}

export type Part = Good | { readonly ok: false; readonly fault: Fault }

/** Rejects for the client's own abort alone; `client` is its signal, that of the Ask may end before. */
export type AskPart = (ask: EdgeRequest, client: AbortSignal) => Promise<Part>

export function createAskPart(read: Handler): AskPart {
  return async (ask, client) => {
    client.throwIfAborted()
    try {
      return partOf(await read(ask))
    } catch (thrown) {
      client.throwIfAborted()
      return { ok: false, fault: faultOf(thrown) }
    }
  }
}

function partOf(answer: EdgeResponse): Part {
  // Only a record with `raw` gives a file, and no such record is joined.
  if (answer.kind !== 'json') return { ok: false, fault: unreadable('a file came') }
  const error = errorNumberOf(answer)
  if (error !== 0) {
    const { message = '' } = parseEnvelope(answer)
    return { ok: false, fault: { code: error, message, word: errorWord(error), answered: answer } }
  }
  const { cached: kept, body: bytes, personal } = answer
  const hit = kept?.status.hit === true
  const age = kept?.response.age ?? 0
  const stale = isStale(answer) ? (kept?.status.detail ?? 'stale') : undefined
  return {
    ok: true,
    bytes,
    hit,
    asOf: performance.now() - age,
    ...(stale !== undefined && { stale }),
    ...(personal && { personal }),
  }
}

/** `stale-if-error` may stand over what is fresh still: newer was wanted. */
function isStale({ cached: kept }: Extract<EdgeResponse, { kind: 'json' }>): boolean {
  return kept?.status.detail?.startsWith('stale') === true
}

export function faultOf(thrown: unknown): Fault {
  const error = thrown instanceof EdgeError ? thrown : new EdgeError(949, '', { cause: thrown })
  return { code: error.code, message: error.message, word: errorWord(error.code, error.cause), thrown: error }
}

export function edgeFault(code: ErrorCode, detail: string): Fault {
  return faultOf(new EdgeError(code, detail))
}

export function unreadable(reason: string): Fault {
  return edgeFault(925, ` (${reason})`)
}

/** Thrown by what reads further pages while rows are joined. */
export class PartFailed extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.name = 'PartFailed'
    this.fault = fault
  }
}

/** The words of RFC 9209 section 2.3 for what kept a node from giving its part. */

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  901: 'http_request_denied',
  903: 'connection_limit_reached',
  920: 'destination_unavailable',
  921: 'connection_limit_reached',
  922: 'http_response_timeout',
  923: 'http_response_timeout',
  924: 'connection_terminated',
  925: 'http_protocol_error',
  926: 'http_response_body_size',
  927: 'proxy_configuration_error',
  928: 'http_protocol_error',
  931: 'destination_not_found',
  935: 'http_response_incomplete',
  3022: 'destination_not_found',
}

/** By the beginning of what the cluster room says of a failed call (cluster/failure.ts), where the code is too broad. */
const BY_DETAIL: readonly (readonly [string, string])[] = [
  ['connection refused', 'connection_refused'],
  ['connection timed out', 'connection_timeout'],
  ['connection lost', 'connection_terminated'],
  ['host name', 'dns_error'],
  ['certificate', 'tls_certificate_error'],
  ['no TLS', 'tls_protocol_error'],
  ['address outside', 'destination_ip_prohibited'],
  ['response cut short', 'http_response_incomplete'],
  ['no address is known', 'proxy_configuration_error'],
]

/** `cause`: of an error of the edge's own, the failed call. */
export function errorWord(code: number, cause?: unknown): string {
  const detail = detailOf(cause)
  const word = BY_DETAIL.find(([beginning]) => detail.startsWith(beginning))?.[1] ?? known(code)
  if (word !== undefined) return word
  if (code < 1000) return 'proxy_internal_error'
  return TRANSIENT_ERRORS.has(code) ? 'destination_unavailable' : 'http_protocol_error'
}

function known(code: number): string | undefined {
  return Object.hasOwn(BY_CODE, code) ? BY_CODE[code as ErrorCode] : undefined
}

function detailOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('detail' in cause)) return ''
  return typeof cause.detail === 'string' ? cause.detail : ''
}
