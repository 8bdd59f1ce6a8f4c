import { encode } from '../node-call.ts'

/**
 * Returns the query of a call with its question mark, or nothing. Commas stay as they are: a list of ids is half as long
 * again with encoded ones, and the request line is limited.
 */
export function formatQuery(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value).replaceAll('%2C', ',')}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
