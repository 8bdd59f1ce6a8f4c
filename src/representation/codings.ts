/** The content codings that clients accept (RFC 9110 section 12.5.3), and encoding itself, off the main thread. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { StoredForm } from '../core/stored-response.ts'

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
export function parseAcceptEncoding(header: string | undefined): AcceptedCodings {
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
export function encode(form: StoredForm, body: Buffer, coding: Coding, identity: boolean): StoredForm['encoded'] {
  if (form.encoded === undefined && !(identity && running >= MAX_CONCURRENT)) {
    running++
    form.encoded = compress(body, coding)
      .catch(() => body)
      .then((encoded) => {
        running--
        form.encoded = encoded.length < body.length ? encoded : 'notSmaller'
        return form.encoded
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
export type Coding = 'br' | 'gzip'
