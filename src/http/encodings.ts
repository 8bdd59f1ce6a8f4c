/**
 * Content codings of kept answers (RFC 9110 section 12.5.3). A large answer is compressed once, off the main thread, and
 * the result hangs on the bytes themselves: it goes when the entry goes.
 */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

export type Coding = 'br' | 'gzip'

/** What a client takes. `codings`: the best first; `identity`: may the answer also go as it is? */
export interface Accepted {
  readonly codings: readonly Coding[]
  readonly identity: boolean
}

type Made = Buffer | undefined
type Codings = Map<Coding, Made | Promise<Made>>

/** Compressions at once: each holds a thread of the pool that passwords need too. Beyond it, answers go as they are. */
const AT_ONCE = 2
/** Remembered readings of the header; clients send a handful of them. */
const REMEMBERED = 256
const LONGEST = 256
const asItIs: Accepted = { codings: [], identity: true }

const RANGE = /^[\t ]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)[\t ]*(?:;[\t ]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?[\t ]*$/i

const compress: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  // Measured on 600 kB of agents: quality 5 takes as long as gzip at 6 and leaves less.
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 6 }),
}

const read = new Map<string, Accepted>()
const made = new WeakMap<Buffer, Codings>()
let underWay = 0

/** Bytes by coding, of those that were made of this answer so far. */
export function madeOf(bytes: Buffer): Readonly<Record<string, number>> {
  const ready = [...(made.get(bytes) ?? [])].filter((each): each is [Coding, Buffer] => Buffer.isBuffer(each[1]))
  return Object.fromEntries(ready.map(([coding, { length }]) => [coding, length]))
}

/** Reads `Accept-Encoding`; a header that cannot be read counts as absent. */
export function accepted(header: string | undefined): Accepted {
  if (header === undefined || header.length > LONGEST) return asItIs
  const known = read.get(header)
  if (known !== undefined) return known
  const found = parse(header)
  if (read.size < REMEMBERED) read.set(header, found)
  return found
}

function parse(header: string): Accepted {
  const qualities = new Map<string, number>()
  for (const range of header.split(',')) {
    if (range.trim() === '') continue
    const [, coding, quality = '1'] = RANGE.exec(range) ?? []
    if (coding === undefined) return asItIs
    const name = coding.toLowerCase()
    qualities.set(name === 'x-gzip' ? 'gzip' : name, Number(quality))
  }
  const others = qualities.get('*')
  const of = (coding: string) => qualities.get(coding) ?? others ?? 0
  const identity = qualities.get('identity') ?? others ?? 1
  // Sorting is stable: of two that are wanted equally, the smaller one.
  const codings = (['br', 'gzip'] as const)
    .filter((coding) => of(coding) > 0 && of(coding) >= (qualities.get('identity') ?? 0))
    .sort((one, other) => of(other) - of(one))
  return { codings, identity: identity > 0 }
}

/** The coding that this answer is to have for the client; `undefined`: none. `from`: bytes from which on it is worth it. */
export function codingFor(bytes: Buffer, { codings, identity }: Accepted, from: number): Coding | undefined {
  return identity && bytes.length < from ? undefined : codings[0]
}

/**
 * The bytes in that coding, made at most once for as long as the bytes live. The first answers wait for it: 7 ms for
 * 600 kB, where the node took 200 to make them. `undefined`: they are to go as they are, since coding gains nothing, or
 * too many others are being made and `identity` will do.
 */
export function encoded(bytes: Buffer, coding: Coding, identity: boolean): Made | Promise<Made> {
  const of: Codings = made.get(bytes) ?? new Map()
  if (of.has(coding)) return of.get(coding)
  if (identity && underWay >= AT_ONCE) return undefined
  const making = make(bytes, coding).then((result) => {
    of.set(coding, result)
    return result
  })
  of.set(coding, making)
  made.set(bytes, of)
  return making
}

async function make(bytes: Buffer, coding: Coding): Promise<Made> {
  underWay++
  try {
    const result = await compress[coding](bytes)
    return result.length < bytes.length ? result : undefined
  } catch {
    return undefined
  } finally {
    underWay--
  }
}
