/** Content codings of stored responses (RFC 9110 section 12.5.3). A large body is compressed once, off the main thread. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Coding, StoredForm } from '../core/response.ts'

/** What a client accepts. */
export interface AcceptedCodings {
  /** In order of preference. */
  readonly codings: readonly Coding[]
  /** The body may also be sent without a coding. */
  readonly identity: boolean
}

type Encoded = Buffer | 'notSmaller'

/** Compressions at the same time: each uses a thread of the pool that verifies passwords. Beyond it, bodies are sent without a coding. */
const MAX_CONCURRENT = 2
/** Parsed headers that are remembered. Clients send few different ones. */
const MAX_REMEMBERED_HEADERS = 256
const MAX_HEADER_LENGTH = 256
const IDENTITY_ONLY: AcceptedCodings = { codings: [], identity: true }

const RANGE = /^[\t ]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)(?:[\t ]*;[\t ]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?[\t ]*$/i

const compress: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  // Measured with 600 kB of agents: quality 5 takes as long as gzip level 6, and the result is smaller.
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 6 }),
}

const acceptedByHeader = new Map<string, AcceptedCodings>()
let running = 0

/** Parses `Accept-Encoding`. A malformed header counts as absent. */
export function parseAcceptEncoding(header: string | undefined): AcceptedCodings {
  if (header === undefined || header.length > MAX_HEADER_LENGTH) return IDENTITY_ONLY
  const known = acceptedByHeader.get(header)
  if (known !== undefined) return known
  const accepted = parse(header)
  if (acceptedByHeader.size < MAX_REMEMBERED_HEADERS) acceptedByHeader.set(header, accepted)
  return accepted
}

function parse(header: string): AcceptedCodings {
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

/** Returns the coding for this body, or `undefined` for none. Bodies shorter than `minBytes` are not compressed. */
export function selectCoding(
  body: Buffer,
  { codings, identity }: AcceptedCodings,
  minBytes: number,
): Coding | undefined {
  return identity && body.length < minBytes ? undefined : codings[0]
}

/**
 * Returns the encoded body of the form, which is made at most once. The first responses wait for it: 7 ms for 600 kB.
 * `undefined`: too many compressions are running, and the client accepts `identity`.
 */
export function encode(
  form: StoredForm,
  { body, coding, identity }: { readonly body: Buffer; readonly coding: Coding; readonly identity: boolean },
): StoredForm['encoded'] {
  if (form.encoded !== undefined) return form.encoded
  if (identity && running >= MAX_CONCURRENT) return undefined
  form.encoded = compressOnce(body, coding).then((encoded) => {
    form.encoded = encoded
    return encoded
  })
  return form.encoded
}

async function compressOnce(body: Buffer, coding: Coding): Promise<Encoded> {
  running++
  try {
    const encoded = await compress[coding](body)
    return encoded.length < body.length ? encoded : 'notSmaller'
  } catch {
    return 'notSmaller'
  } finally {
    running--
  }
}
