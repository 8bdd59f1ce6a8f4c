/** The words of RFC 9209 section 2.3 for what kept a node from giving its part. */
import type { ErrorCode } from '../core/errors.ts'
import { TRANSIENT } from '../core/outcome.ts'

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
  ['no connection in time', 'connection_timeout'],
  ['connection lost', 'connection_terminated'],
  ['host name', 'dns_error'],
  ['certificate', 'tls_certificate_error'],
  ['no TLS', 'tls_protocol_error'],
  ['address outside', 'destination_ip_prohibited'],
  ['answer cut short', 'http_response_incomplete'],
  ['no address is known', 'proxy_configuration_error'],
]

/** `cause`: of an error of the edge's own, the failed call. */
export function errorWord(code: number, cause?: unknown): string {
  const detail = detailOf(cause)
  const word = BY_DETAIL.find(([beginning]) => detail.startsWith(beginning))?.[1] ?? known(code)
  if (word !== undefined) return word
  if (code < 1000) return 'proxy_internal_error'
  return TRANSIENT.has(code) ? 'destination_unavailable' : 'http_protocol_error'
}

function known(code: number): string | undefined {
  return Object.hasOwn(BY_CODE, code) ? BY_CODE[code as ErrorCode] : undefined
}

function detailOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('detail' in cause)) return ''
  return typeof cause.detail === 'string' ? cause.detail : ''
}
