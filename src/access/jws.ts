/**
 * A token's text, read so strictly that each token has one spelling and one meaning (RFC 7515, RFC 8725). Libraries
 * take more: a second `sub` wins in one parser and loses in the next, and the last character of a segment has spare
 * bits that change the text of a token but not its signature.
 */
import { isUtf8 } from 'node:buffer'

export type Members = Readonly<Record<string, unknown>>

export interface ReadToken {
  readonly header: Members
  readonly claims: Members
  /** What the signature covers. */
  readonly signed: string
}

const GREATEST_LENGTH = 4096
const SEGMENTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/
/** Brackets, and strings with the colon that makes them names. Used on valid JSON only. */
const TOKENS = /[{}[\]]|"((?:[^"\\]|\\.)*)"(\s*:)?/g

/** Header and claims of a compact token of at most 4 KiB; `undefined` for anything out of the ordinary. */
export function readToken(token: string): ReadToken | undefined {
  if (token.length > GREATEST_LENGTH) return undefined
  const [, first, second, third] = SEGMENTS.exec(token) ?? []
  if (first === undefined || second === undefined || third === undefined) return undefined
  const header = readMembers(decode(first))
  const claims = readMembers(decode(second))
  if (header === undefined || claims === undefined || decode(third) === undefined) return undefined
  return { header, claims, signed: `${first}.${second}` }
}

/** The member itself, never an inherited one. */
export function member(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function decode(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  return bytes.toString('base64url') === segment ? bytes : undefined
}

function readMembers(bytes: Buffer | undefined): Members | undefined {
  if (bytes === undefined || !isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return hasOnlyOwnNames(text) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** No object names a member twice or `__proto__`, at any depth and however it is escaped. */
function hasOnlyOwnNames(json: string): boolean {
  const open: Set<string>[] = []
  for (const [token, string, colon] of json.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(new Set())
    else if (token === '}' || token === ']') open.pop()
    else if (colon !== undefined) {
      const name: unknown = JSON.parse(`"${string}"`)
      const names = open.at(-1)
      if (typeof name !== 'string' || name === '__proto__' || names === undefined || names.has(name)) return false
      names.add(name)
    }
  }
  return true
}
