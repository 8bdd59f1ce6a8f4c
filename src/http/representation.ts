/**
 * Selects the representation of a response: as stored, indented or compressed, or no body at all because the copy of
 * the client is still valid. Both paths use this module.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { CachedResponse, EdgeResponse } from '../core/response.ts'
import {
  cacheHeaders,
  cacheStatus,
  matchesEtag,
  representationEtag,
  validatorHeaders,
  wholeSeconds,
} from './cache-headers.ts'
import { headerText } from './client-address.ts'
import { type Coding, encode, parseAcceptEncoding, selectCoding } from './encodings.ts'
import type { Flags } from './parameters.ts'
import { indentOnce, indentWithin } from './pretty.ts'

export type JsonResponse = Extract<EdgeResponse, { kind: 'json' }>

/** What a request says about the representation that it wants. */
export interface Preferences {
  readonly pretty: boolean
  readonly acceptEncoding: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Shorter bodies are not compressed. */
  readonly compressionMinBytes: number
}

export interface Representation {
  readonly status: number
  /** The headers that stay the same as long as the representation does. */
  readonly stableHeaders: HeaderFields
  /** The headers of this response. */
  readonly ownHeaders: HeaderFields
  /** Absent: the response has no body. */
  readonly bytes?: Buffer
}

/** Header fields that are made once and sent often, as Fastify takes them and as they are sent. */
export interface HeaderFields {
  /** Names in lower case and values, alternating. */
  readonly pairs: readonly string[]
  /** One line for each. */
  readonly text: string
  /** The last head that was sent with these fields as the headers of its own. */
  head?: ResponseHead
}

/** The bytes of a head, with room for the id of a request. */
export interface ResponseHead {
  readonly status: number
  readonly stableText: string
  readonly ending: string
  readonly idLength: number
  /** Where the id begins. */
  readonly idAt: number
  readonly bytes: Buffer
}

export const JSON_TYPE = 'application/json; charset=utf-8'
const NO_HEADERS: readonly string[] = []

export function preferencesOf(headers: IncomingHttpHeaders, flags: Flags, compressionMinBytes: number): Preferences {
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

export function headerLines(pairs: readonly string[]): string {
  let text = ''
  for (let at = 0; at < pairs.length; at += 2) text += `${pairs[at]}: ${pairs[at + 1]}\r\n`
  return text
}

/** Returns a promise only while the body is being compressed, so that a hit is sent without a microtask. */
export function represent(response: JsonResponse, preferences: Preferences): Representation | Promise<Representation> {
  const { cached, body } = response
  if (cached === undefined) return representUncached(response, preferences)
  const { etag } = cached.response
  // Indented responses are read by people: they are never compressed.
  if (preferences.pretty) {
    const tag = representationEtag(etag, 'pretty')
    return notModified(response, cached, preferences, tag) ?? full(response, cached, tag, indentOnce(body))
  }
  const accepted = parseAcceptEncoding(preferences.acceptEncoding)
  const coding = selectCoding(body, accepted, preferences.compressionMinBytes)
  if (coding === undefined) {
    return notModified(response, cached, preferences, etag) ?? full(response, cached, etag, body)
  }
  const tag = representationEtag(etag, coding)
  const unchanged = notModified(response, cached, preferences, tag)
  if (unchanged !== undefined) return unchanged
  const encoded = encode(body, coding, accepted.identity)
  const select = (bytes: Buffer | undefined) =>
    bytes === undefined ? full(response, cached, etag, body) : full(response, cached, tag, bytes, coding)
  return encoded instanceof Promise ? encoded.then(select) : select(encoded)
}

/** Without a `Cache-Control` the response gets `no-store` (`registerNoStore`). */
function representUncached(response: JsonResponse, preferences: Preferences): Representation {
  const { status, headers = {}, body } = response
  const bytes = preferences.pretty ? indentWithin(body) : body
  const stable = [...Object.entries(headers).flat(), ...clusterHeaders(response), ...contentHeaders(bytes)]
  const own = response.cacheStatus === undefined ? NO_HEADERS : ['cache-status', cacheStatus(response.cacheStatus)]
  return { status, stableHeaders: headerFields(stable), ownHeaders: headerFields(own), bytes }
}

/** Returns 304 if the copy of the client is valid; only for successful responses (RFC 9110 section 13.2.1). */
function notModified(
  response: JsonResponse,
  cached: CachedResponse,
  preferences: Preferences,
  tag: string,
): Representation | undefined {
  if (response.status !== 200 || !matchesEtag(preferences.ifNoneMatch, tag)) return undefined
  const stableHeaders = notModifiedHeaders(tag)
  return { status: 304, stableHeaders, ownHeaders: ownHeaders(response, cached, stableHeaders) }
}

function full(
  response: JsonResponse,
  cached: CachedResponse,
  tag: string,
  bytes: Buffer,
  coding?: Coding,
): Representation {
  const stableHeaders = fullHeaders(tag, bytes, coding)
  return { status: response.status, stableHeaders, ownHeaders: ownHeaders(response, cached, stableHeaders), bytes }
}

/** Age and time left are sent in whole seconds, so the hits of one second share these headers. */
function ownHeaders(response: JsonResponse, cached: CachedResponse, stable: StableHeaders): HeaderFields {
  const { clusterStatus, headers } = response
  const { status } = cached
  const { age, ttl } = wholeSeconds(cached)
  const { last } = stable
  const isShared = headers === undefined && status.hit === true && status.detail === undefined
  if (isShared && last?.age === age && last.ttl === ttl && last.clusterStatus === clusterStatus) return last.fields
  const pairs = [...cacheHeaders(cached), ...clusterHeaders(response)]
  for (const [name, value] of Object.entries(headers ?? {})) pairs.push(name, value)
  const fields = headerFields(pairs)
  if (isShared) stable.last = { age, ttl, clusterStatus, fields }
  return fields
}

/** The headers of a representation, with those of its last hit. */
interface StableHeaders extends HeaderFields {
  last?: {
    /** Seconds. */
    readonly age: number
    readonly ttl: number | undefined
    readonly clusterStatus: string | undefined
    readonly fields: HeaderFields
  }
}

interface FullHeaders {
  readonly length: number
  readonly coding: Coding | undefined
  readonly fields: StableHeaders
}

const fullByTag = new RecentlyUsed<FullHeaders>(MAX_IN_USE)
const notModifiedByTag = new RecentlyUsed<StableHeaders>(MAX_IN_USE)

/** Length and coding are compared too: tags can come from Redis, and a wrong length would cut the body off. */
function fullHeaders(tag: string, bytes: Buffer, coding: Coding | undefined): StableHeaders {
  const known = fullByTag.get(tag)
  const { length } = bytes
  if (known?.length === length && known.coding === coding) return known.fields
  const codingHeaders = coding === undefined ? NO_HEADERS : ['content-encoding', coding]
  const fields = headerFields([...contentHeaders(bytes), ...validatorHeaders(tag), ...codingHeaders])
  fullByTag.set(tag, { length, coding, fields })
  return fields
}

function notModifiedHeaders(tag: string): StableHeaders {
  const known = notModifiedByTag.get(tag)
  if (known !== undefined) return known
  const fields = headerFields(validatorHeaders(tag))
  notModifiedByTag.set(tag, fields)
  return fields
}

/** What each node contributed to a joined response (RFC 9651). */
function clusterHeaders({ clusterStatus }: JsonResponse): readonly string[] {
  return clusterStatus === undefined ? NO_HEADERS : ['cluster-status', clusterStatus]
}

function contentHeaders(bytes: Buffer): string[] {
  return ['content-type', JSON_TYPE, 'content-length', String(bytes.length)]
}

function headerFields(pairs: readonly string[]): HeaderFields {
  // Flattened: V8 would otherwise join the parts of the text again each time it is sent.
  return { pairs, text: Buffer.from(headerLines(pairs), 'latin1').toString('latin1') }
}
