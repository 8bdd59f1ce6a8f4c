/**
 * Selects the representation of a response: as stored, indented or compressed, or no body at all because the copy of
 * the client is still valid.
 */
import {
  type CachedResponse,
  cachedOf,
  type EnvelopeResponse,
  nodeOriginOf,
  PROBLEM_TYPE,
  partsOf,
} from '../core/response.ts'
import type { Coding, PreparedHead, StoredForm } from '../core/stored-forms.ts'
import { headerText } from '../core/values.ts'
import {
  cacheHeaders,
  cacheStatus,
  matchesEtag,
  representationEtag,
  validatorHeaders,
  wholeSeconds,
} from './cache-headers.ts'
import { encode, parseAcceptEncoding, selectCoding } from './encodings.ts'
import { indentOnce, indentWithin } from './pretty.ts'

/** The headers of a request that select a representation. */
interface RequestedForm {
  readonly 'accept-encoding'?: string | string[] | undefined
  readonly 'if-none-match'?: string | undefined
}

/** What a request says about the representation that it wants. */
export interface Preferences {
  readonly pretty: boolean
  readonly acceptEncoding: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Shorter bodies are not compressed. */
  readonly compressionMinBytes: number
}

/** Headers: names in lower case and values, alternating. */
export interface Representation {
  readonly status: number
  /** The headers that stay the same as long as the representation does. */
  readonly stableHeaders: readonly string[]
  /** The headers of this response. */
  readonly ownHeaders: readonly string[]
  /** Absent: the response has no body. */
  readonly bytes?: Buffer
}

export const JSON_TYPE = 'application/json; charset=utf-8'
export const PROBLEM_CONTENT = `${PROBLEM_TYPE}; charset=utf-8`

export function preferencesOf(
  headers: RequestedForm,
  flags: { readonly pretty: boolean },
  compressionMinBytes: number,
): Preferences {
  return {
    pretty: flags.pretty,
    acceptEncoding: headerText(headers['accept-encoding']),
    ifNoneMatch: headers['if-none-match'],
    compressionMinBytes,
  }
}

/** The headers of every response, names and values alternating. `id`: of the request. */
export function commonHeaders(id: string): readonly string[] {
  return ['x-request-id', id, 'x-content-type-options', 'nosniff']
}

/** Returns a promise only while the body is being compressed, so that a hit is sent without a microtask. */
export function represent(
  response: EnvelopeResponse,
  preferences: Preferences,
): Representation | Promise<Representation> {
  const { body } = response
  const cached = cachedOf(response)
  if (cached === undefined) return representUncached(response, preferences)
  const { etag, forms } = cached.response
  // Indented responses are read by people: they are never compressed.
  if (preferences.pretty) {
    forms.pretty ??= { etag: representationEtag(etag, 'pretty') }
    const { pretty } = forms
    return notModified(response, cached, preferences, pretty) ?? full(response, cached, pretty, indentOnce(etag, body))
  }
  const accepted = parseAcceptEncoding(preferences.acceptEncoding)
  const coding = selectCoding(body, accepted, preferences.compressionMinBytes)
  forms.plain ??= { etag }
  const { plain } = forms
  if (coding === undefined) {
    return notModified(response, cached, preferences, plain) ?? full(response, cached, plain, body)
  }
  forms[coding] ??= { etag: representationEtag(etag, coding) }
  const form = forms[coding]
  const unchanged = notModified(response, cached, preferences, form)
  if (unchanged !== undefined) return unchanged
  const encoded = encode(form, { body, coding, identity: accepted.identity })
  if (Buffer.isBuffer(encoded)) return full(response, cached, form, encoded, coding)
  if (encoded instanceof Promise) return encoded.then(() => represent(response, preferences))
  return full(response, cached, plain, body)
}

/** Without a `Cache-Control` the response gets `no-store` (`http/index.ts`). */
function representUncached(response: EnvelopeResponse, preferences: Preferences): Representation {
  const { status, body, origin } = response
  const bytes = preferences.pretty ? indentWithin(body) : body
  const headers = origin.kind === 'edge' ? Object.entries(origin.headers).flat() : []
  const { clusterStatus } = partsOf(origin)
  const stableHeaders = [
    ...headers,
    ...clusterHeaders(clusterStatus),
    ...contentHeaders(bytes, nodeOriginOf(origin)?.isProblem),
  ]
  const ownHeaders = origin.kind === 'trial' ? ['cache-status', cacheStatus(origin.status)] : []
  return { status, stableHeaders, ownHeaders, bytes }
}

/** Returns 304 if the copy of the client is valid; only for successful responses (RFC 9110 section 13.2.1). */
function notModified(
  response: EnvelopeResponse,
  cached: CachedResponse,
  { ifNoneMatch }: Preferences,
  form: StoredForm,
): Representation | undefined {
  if (response.status !== 200 || !matchesEtag(ifNoneMatch, form.etag)) return undefined
  form.notModified ??= { stable: validatorHeaders(form.etag) }
  const { notModified: head } = form
  return { status: 304, stableHeaders: head.stable, ownHeaders: ownHeaders(cached, head) }
}

function full(
  response: EnvelopeResponse,
  cached: CachedResponse,
  form: StoredForm,
  bytes: Buffer,
  coding?: Coding,
): Representation {
  form.full ??= { stable: [...contentHeaders(bytes), ...validatorHeaders(form.etag), ...codingHeaders(coding)] }
  const { full: head } = form
  return { status: response.status, stableHeaders: head.stable, ownHeaders: ownHeaders(cached, head), bytes }
}

/** Age and time left are sent in whole seconds, so the hits of one second share these headers. */
function ownHeaders(cached: CachedResponse, head: PreparedHead): readonly string[] {
  const { status, response } = cached
  const { clusterStatus } = response
  const { age, ttl } = wholeSeconds(cached)
  const { last } = head
  const isShared = status.hit === true && status.detail === undefined
  if (isShared && last?.age === age && last.ttl === ttl && last.clusterStatus === clusterStatus) return last.pairs
  const pairs = [...cacheHeaders(cached), ...clusterHeaders(clusterStatus)]
  if (isShared) head.last = { age, ttl, clusterStatus, pairs }
  return pairs
}

/** What each node contributed to a joined response (RFC 9651). */
function clusterHeaders(clusterStatus = ''): readonly string[] {
  return clusterStatus === '' ? [] : ['cluster-status', clusterStatus]
}

function contentHeaders(bytes: Buffer, isProblem = false): readonly string[] {
  return ['content-type', isProblem ? PROBLEM_CONTENT : JSON_TYPE, 'content-length', String(bytes.length)]
}

function codingHeaders(coding: Coding | undefined): readonly string[] {
  return coding === undefined ? [] : ['content-encoding', coding]
}
