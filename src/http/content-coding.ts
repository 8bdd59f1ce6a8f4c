/**
 * The bytes of request bodies within their limits, and their content codings (RFC 9110 section 8.4): none in the v3 contract,
 * one layer of gzip in the v4 one.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { createGunzip } from 'node:zlib'
import { EdgeError } from '../core/errors.ts'
import { concatInTurns } from '../core/long-values.ts'
import { printable } from './parameters.ts'

/** A body that grows more is refused before its end. JSON and rules shrink to a tenth or less. */
const MAX_RATIO = 100
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip'])

function codingOf(headers: IncomingHttpHeaders): string {
  // An empty header names no coding.
  return headers['content-encoding']?.trim().toLowerCase() || 'identity'
}

/** Throws 914 for a body with a content coding that is not accepted. */
export function checkCoding(headers: IncomingHttpHeaders, accepted: 'identity' | 'gzip'): void {
  const coding = codingOf(headers)
  if (coding === 'identity' || (accepted === 'gzip' && GZIP.has(coding))) return
  throw new EdgeError(914, `: ${printable(coding)}`, { headers: { 'accept-encoding': accepted } })
}

interface BodyLimits {
  /** Bytes. */
  readonly maxLength: number
  /** Counts the bytes in memory, and throws if all clients together have too many. Absent: there is no such bound. */
  readonly count?: ((bytes: number) => void) | undefined
}

/** Collects the bytes of a body. Rejects with 701 for more than `maxLength`, and as `count` throws. */
export async function collectBody(received: AsyncIterable<Buffer>, { maxLength, count }: BodyLimits): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of received) {
    length += chunk.length
    if (length > maxLength) throw new EdgeError(701)
    count?.(chunk.length)
    chunks.push(chunk)
  }
  return concatInTurns(chunks)
}

/**
 * Returns the bytes of a body without its content coding. They are inflated in slices by another thread. Rejects with 701 if
 * there would be more than `maxLength` or `MAX_RATIO` times the bytes, and with 914 if the body is not what its header says.
 */
export async function decodeBody(headers: IncomingHttpHeaders, bytes: Buffer, limits: BodyLimits): Promise<Buffer> {
  if (bytes.length === 0 || !GZIP.has(codingOf(headers))) return bytes
  const maxLength = Math.min(limits.maxLength, MAX_RATIO * bytes.length)
  const inflated = createGunzip({ chunkSize: 64 * 1024 })
  const decoded = await collectBody(inflated.end(bytes), { ...limits, maxLength }).catch((cause: unknown) => {
    throw cause instanceof EdgeError ? cause : new EdgeError(914, ': the body is not gzip', { cause })
  })
  // What follows the compressed data could be another request.
  if (inflated.bytesWritten !== bytes.length) throw new EdgeError(914, ': bytes follow the compressed body')
  return decoded
}
