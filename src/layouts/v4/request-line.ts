/** Request lines of calls, whose length a node limits, and lists of ids that fit into one. */
import type { Translation } from '../../contracts/translations/translation.ts'
import { EdgeError } from '../../core/errors.ts'
import type { NamedRead } from '../../core/node-call.ts'
import { type EdgeRequest, fieldsOf } from '../../core/request.ts'
import { ownEntry } from '../../core/values.ts'
import { encode, fillPath } from '../call-path.ts'

/**
 * Returns the query of a call with its question mark, or nothing. Commas stay as they are: a list of ids is half as long
 * again with encoded ones, and the request line is limited.
 */
export function formatQuery(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value).replaceAll('%2C', ',')}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

export function urlOf({ path, params, query }: NamedRead): string {
  return fillPath(path, params) + formatQuery(query)
}

/** The longest request line that a node accepts, in bytes. It answers longer ones with a text instead of JSON. */
export const MAX_REQUEST_LINE = 8190

/** `url`: path and query, encoded, so each character is a byte. */
export function lineBytesOf(method: string, url: string): number {
  return `${method} ${url} HTTP/1.1`.length
}

/** Throws 908 for a request line that the node does not accept: encoded, texts are up to three times as long. */
export function checkRequestLine(node: string, method: string, url: string): void {
  if (lineBytesOf(method, url) <= MAX_REQUEST_LINE) return
  throw new EdgeError(908, ` (${node}: the request line of the call has more than ${MAX_REQUEST_LINE} bytes)`)
}

/** About as many ids of three digits fit into a request line. */
export const MAX_IDS = 2_000
/** Bytes of the list; the rest is for path, other parameters and the words of the request line. */
export const MAX_LIST_BYTES = 7_000

/** Returns the ids in texts that fit into a request line each, separated by commas. Ids are ASCII. */
export function chunksOf(ids: readonly string[], maxBytes = MAX_LIST_BYTES): string[] {
  const chunks: string[] = []
  let chunk: string[] = []
  let bytes = 0
  for (const id of ids) {
    if (chunk.length === MAX_IDS || (chunk.length > 0 && bytes + id.length > maxBytes)) {
      chunks.push(chunk.join(','))
      chunk = []
      bytes = 0
    }
    chunk.push(id)
    bytes += id.length + 1
  }
  if (chunk.length > 0) chunks.push(chunk.join(','))
  return chunks
}

interface Listing {
  readonly request: EdgeRequest
  readonly translation: Translation
}

/** Returns the ids that the request lists; `undefined`: it has no list. */
export function listOf({ request, translation }: Listing): readonly string[] | undefined {
  const { list } = translation.call
  if (list === undefined) return undefined
  const value = list.from === 'query.ids' ? ownEntry(request.query, 'ids') : ownEntry(fieldsOf(request), 'ids')
  if (value === undefined) return undefined
  const ids = Array.isArray(value) ? value.map(String) : String(value).split(',')
  return ids.filter((id) => id !== '').map(canonicalId)
}

/** The node takes ids of three digits; with more zeros in front than that they name no agent. */
function canonicalId(id: string): string {
  return /^\d+$/.test(id) ? id.replace(/^0+(?=\d)/, '').padStart(3, '0') : id
}
