import { RecentlyUsed } from '../core/recently-used.ts'
import type { CachedResponse, EdgeResponse } from '../core/response.ts'
import { cacheHeaders, namesTag, tagOf, validators } from './cache-headers.ts'
import { accepted, type Coding, codingFor, encoded } from './encodings.ts'
import { pretty } from './pretty.ts'
import { type Fields, fields } from './write-response.ts'

/**
 * Which representation of an answer goes out: as it is, indented or compressed, or none at all since the client still
 * holds it. Decided here alone, for every road that an answer takes to a client.
 */

export type JsonAnswer = Extract<EdgeResponse, { kind: 'json' }>

/** What of a request chooses the representation. */
export interface Wanted {
  readonly pretty: boolean
  readonly acceptEncoding: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Bytes from which on compressing is worth it. */
  readonly compressFrom: number
}

export interface Representation {
  readonly status: number
  /** Those that stay the same as long as the representation does. */
  readonly lasting: Fields
  /** Names in lower case and values, in turn. */
  readonly headers: readonly string[]
  /** Absent: the answer has no body. */
  readonly bytes?: Buffer
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** A promise only while something is compressed: what is ready goes out at once. */
export function represent(answer: JsonAnswer, wanted: Wanted): Representation | Promise<Representation> {
  const { cached: kept, body: bytes } = answer
  if (kept === undefined) return notKept(answer, wanted)
  const { etag } = kept.response
  // Indented answers are for eyes, not for programs: made anew each time, and never compressed.
  if (wanted.pretty) {
    const tag = tagOf(etag, 'pretty')
    return unchanged(answer, kept, wanted, tag) ?? whole(answer, kept, tag, pretty(bytes))
  }
  const takes = accepted(wanted.acceptEncoding)
  const coding = codingFor(bytes, takes, wanted.compressFrom)
  if (coding === undefined) return unchanged(answer, kept, wanted, etag) ?? whole(answer, kept, etag, bytes)
  const tag = tagOf(etag, coding)
  const same = unchanged(answer, kept, wanted, tag)
  if (same !== undefined) return same
  const made = encoded(bytes, coding, takes.identity)
  const choose = (compressed: Buffer | undefined) =>
    compressed === undefined ? whole(answer, kept, etag, bytes) : whole(answer, kept, tag, compressed, coding)
  return made instanceof Promise ? made.then(choose) : choose(made)
}

/** Says nothing of caches: what names no `Cache-Control` is `no-store` (not-kept.ts). */
function notKept(answer: JsonAnswer, wanted: Wanted): Representation {
  const { status, headers = {}, body: bytes } = answer
  const body = wanted.pretty ? pretty(bytes) : bytes
  const lasting = fields([...Object.entries(headers).flat(), ...ofNodes(answer), ...described(body)])
  return { status, lasting, headers: NOTHING, bytes: body }
}

/** Tells that the client's copy still is what it would get; asked of successful answers only (RFC 9110 section 13.2.1). */
function unchanged(answer: JsonAnswer, kept: CachedResponse, wanted: Wanted, tag: string): Representation | undefined {
  if (answer.status !== 200 || !namesTag(wanted.ifNoneMatch, tag)) return undefined
  return { status: 304, lasting: unchangedOf(tag), headers: own(answer, kept) }
}

function whole(answer: JsonAnswer, kept: CachedResponse, tag: string, bytes: Buffer, coding?: Coding): Representation {
  return { status: answer.status, lasting: lastingOf(tag, bytes, coding), headers: own(answer, kept), bytes }
}

function own(answer: JsonAnswer, kept: CachedResponse): readonly string[] {
  const headers = cacheHeaders(kept)
  for (const text of ofNodes(answer)) headers.push(text)
  if (answer.headers !== undefined)
    for (const [name, value] of Object.entries(answer.headers)) headers.push(name, value)
  return headers
}

interface Lasting {
  readonly length: number
  readonly coding: Coding | undefined
  readonly fields: Fields
}

/** Entity tags of what was sent lately. */
const TAGS = 2000
const wholes = new RecentlyUsed<Lasting>(TAGS)
const unchangeds = new RecentlyUsed<Fields>(TAGS)

/** A tag names one representation; but Redis holds tags too, and a length that is not that of the bytes cuts them off. */
function lastingOf(tag: string, bytes: Buffer, coding: Coding | undefined): Fields {
  const known = wholes.get(tag)
  const { length } = bytes
  if (known?.length === length && known.coding === coding) return known.fields
  const coded = coding === undefined ? NOTHING : ['content-encoding', coding]
  const made = { length, coding, fields: fields([...described(bytes), ...validators(tag), ...coded]) }
  wholes.set(tag, made)
  return made.fields
}

function unchangedOf(tag: string): Fields {
  const known = unchangeds.get(tag)
  if (known !== undefined) return known
  const made = fields(validators(tag))
  unchangeds.set(tag, made)
  return made
}

const NOTHING: readonly string[] = []

/** What each node had to say to a joined answer, for clients that look (RFC 9651). */
function ofNodes({ clusterStatus }: JsonAnswer): readonly string[] {
  return clusterStatus === undefined ? NOTHING : ['cluster-status', clusterStatus]
}

function described(bytes: Buffer): string[] {
  return ['content-type', JSON_TYPE, 'content-length', String(bytes.length)]
}
