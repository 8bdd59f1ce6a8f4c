/** The error types of RFC 9209 section 2.3 in `Cluster-Status`. */
import type { CancelSignal } from '../core/cancellation.ts'
import type { ErrorCode } from '../core/errors.ts'
import type { FailureReason } from '../core/node-faults.ts'
import { AbandonedError } from '../core/presence.ts'
import { ownEntry, ownText } from '../core/values.ts'

const PROXY_ERRORS: Partial<Record<ErrorCode, string>> = {
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
  937: 'proxy_configuration_error',
  3022: 'destination_not_found',
}

/** Error types of failed calls whose code is too broad. */
const PROXY_ERRORS_BY_REASON: Partial<Record<FailureReason, string>> = {
  connectionRefused: 'connection_refused',
  connectionTimedOut: 'connection_timeout',
  connectionLost: 'connection_terminated',
  hostNotFound: 'dns_error',
  hostNotResolved: 'dns_error',
  certificateOfOtherHost: 'tls_certificate_error',
  certificateExpired: 'tls_certificate_error',
  noTls: 'tls_protocol_error',
  addressNotAllowed: 'destination_ip_prohibited',
  cutShort: 'http_response_incomplete',
  noAddress: 'proxy_configuration_error',
}

/** Returns the error type of RFC 9209 for an error code; `cause` is the failed call, if there is one. */
export function proxyErrorOf(code: number, cause?: unknown): string {
  const proxyError = ownEntry(PROXY_ERRORS_BY_REASON, ownText(cause, 'reason') ?? '') ?? PROXY_ERRORS[code as ErrorCode]
  if (proxyError !== undefined) return proxyError
  if (code < 1000) return 'proxy_internal_error'
  return TRANSIENT_ERRORS.has(code) ? 'destination_unavailable' : 'http_protocol_error'
}

/** To be called with the error of work for a client. Throws if the work ended because the client has left. */
export function throwIfAbandoned(error: unknown, { signal }: { readonly signal: CancelSignal }): void {
  signal.throwIfAborted()
  if (error instanceof AbandonedError) throw error
}

/** Errors of the manager's framework that may have another result a moment later: a retry may help. */
const TRANSIENT_ERRORS: ReadonlySet<number> = new Set([
  1010, 1011, 1013, 1014, 1017, 1118, 1601, 1652, 1702, 1713, 1714, 1715, 1901, 1902, 2002, 2005, 3000, 3009, 3012,
  3016, 3018, 3020, 3021, 3023,
])
