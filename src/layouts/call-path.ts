/** The path of a call to a node, made of the values of the request. */
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest } from '../core/request.ts'

/** Fills a path template. Throws 601 for a value that cannot be a path segment. */
export function fillPath(template: string, params: EdgeRequest['params']): string {
  return template.replaceAll(/\/:([^/]+)/g, (_, name: string) => `/${encodeSegment(params, name)}`)
}

/** Encodes a value as one segment. A value of dots only is refused: servers read `..` as the parent. */
function encodeSegment(params: EdgeRequest['params'], name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined || /^\.*$/.test(value)) throw new EdgeError(601, `.  Field: ${name}`)
  return encode(value)
}

/** Encodes all characters but the unreserved ones of RFC 3986; encodeURIComponent leaves five more. */
export function encode(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
