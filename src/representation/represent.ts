/**
 * Selects the representation of a response: as stored or indented, compressed or not, or no body at all because the copy of
 * the client is still valid. And its headers: for this cache (RFC 9211), and for caches between edge and client (RFC
 * 9110, RFC 9111). A large body is compressed once, off the main thread.
 */

import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type CacheStatus, formatDetail } from '../core/cache.ts'
import {
  type CachedResponse,
  cachedOf,
  type EnvelopeResponse,
  isProblem,
  PROBLEM_TYPE,
  partsOf,
  uncachedStatusOf,
} from '../core/response.ts'
import type { PreparedHead, StoredForm, StoredForms } from '../core/stored-response.ts'
import { indentOnce, indentWithin } from './pretty.ts'

/** The headers of a request that select a representation. */
interface RequestedForm {
  readonly 'accept-encoding'?: string | undefined
  readonly 'if-none-match'?: string | undefined
}

/** What a request says about the representation that it wants. */
interface Preferences {
  readonly pretty: boolean
  readonly acceptEncoding: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Shorter bodies are not compressed. */
  readonly compressionMinBytes: number
}

/** Headers: names in lower case and values, alternating. */
interface Representation {
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
    acceptEncoding: headers['accept-encoding'],
    ifNoneMatch: headers['if-none-match'],
    compressionMinBytes,
  }
}

/** The headers of every response, names and values alternating. `id`: of the request. */
export function commonHeaders(id: string): readonly string[] {
  return ['x-request-id', id, 'x-content-type-options', 'nosniff']
}

/** Returns a promise for a hit only while its body is being indented or compressed, so that others are sent without a microtask. */
export function represent(
  response: EnvelopeResponse,
  preferences: Preferences,
): Representation | Promise<Representation> {
  const cached = cachedOf(response)
  return cached === undefined
    ? representUncached(response, preferences)
    : representCached(response, cached, preferences)
}

/** As `represent`, for a response whose origin is `cached`. */
export function representCached(
  response: EnvelopeResponse,
  cached: CachedResponse,
  preferences: Preferences,
): Representation | Promise<Representation> {
  const { body } = response
  const { pretty, acceptEncoding, ifNoneMatch, compressionMinBytes } = preferences
  const { codings, identity } = parseAcceptEncoding(acceptEncoding)
  const isShort = identity && body.length < compressionMinBytes
  const [coding] = isShort ? [] : codings
  const plain = formOf(cached, pretty ? 'pretty' : 'plain')
  const form = coding === undefined ? plain : formOf(cached, pretty ? `pretty-${coding}` : coding)
  if (ifNoneMatch !== undefined && response.status === 200 && matchesEtag(ifNoneMatch, form.etag))
    return notModified(cached, form)
  if (coding !== undefined && Buffer.isBuffer(form.encoded)) return full(response, cached, form, form.encoded, coding)
  if (coding === undefined && !pretty) return full(response, cached, plain, body)
  const withBytes = (bytes: Buffer): Representation | Promise<Representation> => {
    const encoded = coding && encode(form, bytes, coding, identity)
    const withEncoded = (known: typeof encoded): Representation =>
      Buffer.isBuffer(known) ? full(response, cached, form, known, coding) : full(response, cached, plain, bytes)
    return encoded instanceof Promise ? encoded.then(withEncoded) : withEncoded(encoded)
  }
  const bytes = pretty ? indentOnce(cached.response.etag, body) : body
  return bytes instanceof Promise ? bytes.then(withBytes) : withBytes(bytes)
}

function formOf({ response: { forms, etag } }: CachedResponse, name: keyof StoredForms): StoredForm {
  forms[name] ??= { etag: name === 'plain' ? etag : representationEtag(etag, name) }
  return forms[name]
}

/** Without a `Cache-Control` the response gets `no-store` (`http/index.ts`). */
async function representUncached(response: EnvelopeResponse, preferences: Preferences): Promise<Representation> {
  const { status, body, origin } = response
  const bytes = preferences.pretty ? await indentWithin(body) : body
  const headers = origin.kind === 'edge' ? Object.entries(origin.headers).flat() : []
  const { clusterStatus, oldestPartAge, mark } = partsOf(origin)
  const cache = uncachedStatusOf(origin)
  const stableHeaders = [...headers, ...clusterHeaders(clusterStatus), ...contentHeaders(bytes, isProblem(response))]
  const age = mark ? ['age', String(Math.floor(oldestPartAge / 1000))] : []
  const ownHeaders = cache === undefined ? [] : [...age, 'cache-status', cacheStatus(cache)]
  return { status, stableHeaders, ownHeaders, bytes }
}

/** The copy of the client is valid: only of successful responses (RFC 9110 section 13.2.1). */
function notModified(cached: CachedResponse, form: StoredForm): Representation {
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
  form.full ??= { stable: stableHeadersOf(response, form.etag, bytes, coding) }
  const { full: head } = form
  return { status: response.status, stableHeaders: head.stable, ownHeaders: ownHeaders(cached, head), bytes }
}

/** Returns the names and values of the headers that stay the same for a form. */
function stableHeadersOf(response: EnvelopeResponse, etag: string, bytes: Buffer, coding?: Coding): readonly string[] {
  const validators = response.status === 200 ? validatorHeaders(etag) : ERROR_HEADERS
  const encoded = coding === undefined ? [] : ['content-encoding', coding]
  return [...contentHeaders(bytes, isProblem(response)), ...validators, ...encoded]
}

/** Age and time left are sent in whole seconds, so the hits of one second share these headers. */
function ownHeaders({ status, response, age: ms }: CachedResponse, head: PreparedHead): readonly string[] {
  const { clusterStatus } = response
  const age = Math.max(0, Math.floor(ms / 1000))
  const ttl = status.ttl === undefined ? undefined : Math.floor(status.ttl / 1000)
  const { last } = head
  const isShared = status.hit === true && status.detail === undefined
  if (isShared && last?.age === age && last.ttl === ttl && last.clusterStatus === clusterStatus) return last.pairs
  const pairs = ['age', String(age), 'cache-status', cacheStatus(status), ...clusterHeaders(clusterStatus)]
  if (isShared) head.last = { age, ttl, clusterStatus, pairs }
  return pairs
}

/** What each node contributed to a joined response (RFC 9651). */
function clusterHeaders(clusterStatus = ''): readonly string[] {
  return clusterStatus === '' ? [] : ['cluster-status', clusterStatus]
}

function contentHeaders(bytes: Buffer, isError: boolean): readonly string[] {
  return ['content-type', isError ? PROBLEM_CONTENT : JSON_TYPE, 'content-length', String(bytes.length)]
}

/** Only the client may store it, and must revalidate it on each use: it does not learn of writes. */
const REVALIDATE = 'private, no-cache'
/** `Authorization`: callers with other permissions may get another response from the same URL. */
const VARY = 'Accept-Encoding, Authorization'

/** Of a stored refusal: clients must not store errors. */
const ERROR_HEADERS = ['cache-control', 'no-store', 'vary', VARY]

/** Returns the names and values of the headers that stay the same for an entity tag. */
function validatorHeaders(etag: string): readonly string[] {
  return ['etag', etag, 'cache-control', REVALIDATE, 'vary', VARY]
}

/** A structured field (RFC 9651): `manager-edge; hit; ttl=4`. */
function cacheStatus({ hit, fwd, stored, collapsed, ttl, detail }: CacheStatus): string {
  let text = 'manager-edge'
  if (hit) text += '; hit'
  if (fwd !== undefined) text += `; fwd=${fwd}`
  if (stored) text += '; stored'
  if (collapsed) text += '; collapsed'
  if (ttl !== undefined) text += `; ttl=${Math.floor(ttl / 1000)}`
  if (detail !== undefined) text += `; detail=${formatDetail(detail)}`
  return text
}

const ENTITY_TAG = /[\t ,]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")[\t ]*(?=,|$)/y
/** A longer list is ignored. */
const MAX_LIST_LENGTH = 8192

/**
 * Returns whether `If-None-Match` contains this entity tag. Tags are compared weakly (RFC 9110 section 13.1.2); a
 * malformed list matches nothing. `etag` is strong and includes its quotes.
 */
function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.length > MAX_LIST_LENGTH) return false
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true
  ENTITY_TAG.lastIndex = 0
  for (let found = ENTITY_TAG.exec(ifNoneMatch); found !== null; found = ENTITY_TAG.exec(ifNoneMatch)) {
    if (found[1] === etag) return true
  }
  return false
}

/** Returns the entity tag of another representation of the same response: `"abc"` and `gzip` give `"abc-gzip"`. */
function representationEtag(etag: string, representation: string): string {
  return `${etag.slice(0, -1)}-${representation}"`
}

/** What a client accepts. */
interface AcceptedCodings {
  /** In order of preference. */
  readonly codings: readonly Coding[]
  /** The body may also be sent without a coding. */
  readonly identity: boolean
}

/** Parsed headers that are remembered. Clients send few different ones. */
const MAX_REMEMBERED_HEADERS = 256
const MAX_HEADER_LENGTH = 256
const IDENTITY_ONLY: AcceptedCodings = { codings: [], identity: true }

const RANGE = /^[\t ]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)(?:[\t ]*;[\t ]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?[\t ]*$/i

const acceptedByHeader = new Map<string, AcceptedCodings>()

/** Parses `Accept-Encoding`. A malformed header counts as absent. */
function parseAcceptEncoding(header: string | undefined): AcceptedCodings {
  if (header === undefined || header.length > MAX_HEADER_LENGTH) return IDENTITY_ONLY
  const known = acceptedByHeader.get(header)
  if (known !== undefined) return known
  const accepted = parseCodings(header)
  if (acceptedByHeader.size < MAX_REMEMBERED_HEADERS) acceptedByHeader.set(header, accepted)
  return accepted
}

function parseCodings(header: string): AcceptedCodings {
  const qualities = new Map<string, number>()
  for (const range of header.split(',')) {
    if (range.trim() === '') continue
    const [, coding, quality = '1'] = RANGE.exec(range) ?? []
    if (coding === undefined) return IDENTITY_ONLY
    const name = coding.toLowerCase()
    qualities.set(name === 'x-gzip' ? 'gzip' : name, Number(quality))
  }
  const others = qualities.get('*')
  const qualityOf = (coding: string) => qualities.get(coding) ?? others ?? 0
  const identity = qualities.get('identity') ?? others ?? 1
  // The sort is stable: of two codings with the same quality, brotli comes first.
  const codings = (['br', 'gzip'] as const)
    .filter((coding) => qualityOf(coding) > 0 && qualityOf(coding) >= (qualities.get('identity') ?? 0))
    .sort((a, b) => qualityOf(b) - qualityOf(a))
  return { codings, identity: identity > 0 }
}

/** Compressions at the same time: each uses a thread of the pool that verifies passwords. Beyond it, bodies are sent without a coding. */
const MAX_CONCURRENT = 2
let running = 0

/**
 * Returns the encoded body of the form, which is made at most once. The first responses wait for it: 7 ms for 600 kB.
 * `undefined`: too many compressions are running, and the client accepts `identity`.
 */
function encode(form: StoredForm, body: Buffer, coding: Coding, identity: boolean): StoredForm['encoded'] {
  if (form.encoded === undefined && !(identity && running >= MAX_CONCURRENT)) {
    running++
    form.encoded = compress(body, coding)
      .then((encoded) => (encoded.length < body.length ? encoded : 'notSmaller'))
      .catch(() => 'notSmaller' as const)
      .then((encoded) => {
        running--
        form.encoded = encoded
        return encoded
      })
  }
  return form.encoded
}

function compress(body: Buffer, coding: Coding): Promise<Buffer> {
  if (coding === 'gzip') return promisify(gzip)(body, { level: 6 })
  // Measured with 600 kB of agents: quality 5 takes as long as gzip level 6, and the result is smaller.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
  return promisify(brotliCompress)(body, { params })
}

/** A content coding that the edge applies (RFC 9110 section 8.4.1). */
type Coding = 'br' | 'gzip'
