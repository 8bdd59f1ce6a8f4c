/**
 * Selects the representation of a response: as stored or indented, compressed or not, or no body at all because the copy of
 * the client is still valid.
 */

import { cachedOf, isProblem, partsOf, uncachedStatusOf } from '../core/origins.ts'
import type { CachedResponse, EnvelopeResponse } from '../core/response.ts'
import type { StoredForm, StoredForms } from '../core/stored-response.ts'
import { type Coding, encode, parseAcceptEncoding } from './codings.ts'
import {
  cachedHeaders,
  cacheStatus,
  clusterHeaders,
  contentHeaders,
  stableHeadersOf,
  validatorHeaders,
} from './headers.ts'
import { indentOnce, indentWithin } from './pretty.ts'

/** The headers of a request that select a representation. */
interface RequestedForm {
  readonly 'accept-encoding'?: string | undefined
  readonly 'if-none-match'?: string | undefined
}

/** The parameters of a request that do so. */
interface RequestedFlags {
  readonly pretty: boolean
}

/** Shorter bodies are not compressed. */
const MIN_COMPRESSED_BYTES = 1024

interface Representation {
  readonly status: number
  /** Names in lower case and values, alternating. */
  readonly headers: readonly string[]
  /** Absent: the response has no body. */
  readonly bytes?: Buffer
}

/** Returns a promise for a hit only while its body is being indented or compressed, so that others are sent without a microtask. */
export function represent(
  response: EnvelopeResponse,
  headers: RequestedForm,
  flags: RequestedFlags,
): Representation | Promise<Representation> {
  const cached = cachedOf(response)
  return cached === undefined ? representUncached(response, flags) : representCached(response, cached, headers, flags)
}

/** As `represent`, for a response whose origin is `cached`. */
export function representCached(
  response: EnvelopeResponse,
  cached: CachedResponse,
  { 'accept-encoding': acceptEncoding, 'if-none-match': ifNoneMatch }: RequestedForm,
  { pretty }: RequestedFlags,
): Representation | Promise<Representation> {
  const { body } = response
  const { codings, identity } = parseAcceptEncoding(acceptEncoding)
  const isShort = identity && body.length < MIN_COMPRESSED_BYTES
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

/** Returns the form of a response with this name. Each form has an entity tag, since its bytes differ. */
function formOf({ response: { forms, etag } }: CachedResponse, name: keyof StoredForms): StoredForm {
  // Of `"abc"` and `gzip`: `"abc-gzip"`.
  forms[name] ??= { etag: name === 'plain' ? etag : `${etag.slice(0, -1)}-${name}"` }
  return forms[name]
}

/** Without a `Cache-Control` the response gets `no-store` (`http/index.ts`). */
async function representUncached(response: EnvelopeResponse, { pretty }: RequestedFlags): Promise<Representation> {
  const { status, body, origin } = response
  const bytes = pretty ? await indentWithin(body) : body
  const ofEdge = origin.kind === 'edge' ? Object.entries(origin.headers).flat() : []
  const { clusterStatus, oldestPartAge, mark } = partsOf(origin)
  const cache = uncachedStatusOf(origin)
  const content = [...clusterHeaders(clusterStatus), ...contentHeaders(bytes, isProblem(response))]
  const age = mark ? ['age', String(Math.floor(oldestPartAge / 1000))] : []
  const ofCache = cache === undefined ? [] : [...age, 'cache-status', cacheStatus(cache)]
  return { status, headers: [...ofEdge, ...content, ...ofCache], bytes }
}

/** The copy of the client is valid: only of successful responses (RFC 9110 section 13.2.1). */
function notModified(cached: CachedResponse, form: StoredForm): Representation {
  form.notModified ??= { stable: validatorHeaders(form.etag) }
  return { status: 304, headers: cachedHeaders(cached, form.notModified) }
}

function full(
  response: EnvelopeResponse,
  cached: CachedResponse,
  form: StoredForm,
  bytes: Buffer,
  coding?: Coding,
): Representation {
  form.full ??= { stable: stableHeadersOf(response, form.etag, bytes, coding) }
  return { status: response.status, headers: cachedHeaders(cached, form.full), bytes }
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
