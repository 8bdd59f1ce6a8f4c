/** Pure functions over values that come from outside, or go there. */
import { isUtf8 } from 'node:buffer'

/** Returns the value of a JSON text that comes from outside; `undefined` if it is none. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** Returns the record's own entry, never an inherited one such as `constructor`. */
export function ownEntry<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}

/** Returns the own field of a value of unknown type, such as parsed JSON; `undefined` if the value is no object. */
export function ownField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

/** As `ownField`, for text only. */
export function ownText(value: unknown, name: string): string | undefined {
  const found = ownField(value, name)
  return typeof found === 'string' ? found : undefined
}

/** Returns a header as one text; Node returns a list for some headers that are sent several times. */
export function headerText(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}

/**
 * A range of IP addresses; a single address is a range of 32 or 128 bits. All checks of addresses use this form and that of
 * `normalizeAddress`, so a range and an address can never be compared in different forms.
 */
interface AddressRange {
  readonly family: 'ipv4' | 'ipv6'
  /** The network address in canonical form. */
  readonly address: string
  /** Length of the prefix in bits: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly prefix: number
}

const IPV4_OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = new RegExp(`^${IPV4_OCTET}(?:\\.${IPV4_OCTET}){3}$`)
const IPV6_CHARACTERS = /^[0-9A-Fa-f:.]{2,45}$/
/** IPv4-mapped IPv6 in compressed form. */
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/

/**
 * Returns the canonical text of an address: IPv4 for IPv4-mapped IPv6, else IPv6 compressed and in lower case
 * (RFC 5952). Returns `undefined` for any other text; zone identifiers (`%eth0`) are not accepted.
 */
export function normalizeAddress(text: string): string | undefined {
  if (IPV4.test(text)) return text
  const compressed = compressIpv6(text)
  if (compressed === undefined) return undefined
  const mapped = MAPPED.exec(compressed)
  return mapped === null ? compressed : dottedQuad(mapped)
}

/**
 * Parses an address or a CIDR range (`10.0.0.0/8`, `fd00::/8`, `192.0.2.1`). Returns `undefined` for any other text,
 * and for an IPv4-mapped address in every spelling: `::ffff:10.0.0.0/8`, read as IPv6, would contain every IPv4
 * address (CVE-2026-92395), so IPv4 ranges are written in IPv4 form only.
 */
export function parseAddressRange(text: string): AddressRange | undefined {
  const slash = text.indexOf('/')
  const written = slash < 0 ? text : text.slice(0, slash)
  const address = normalizeAddress(written)
  if (address === undefined || IPV4.test(address) !== IPV4.test(written)) return undefined
  const family = IPV4.test(address) ? 'ipv4' : 'ipv6'
  const bits = family === 'ipv4' ? 32 : 128
  const prefix = slash < 0 ? bits : parsePrefix(text.slice(slash + 1), bits)
  return prefix === undefined ? undefined : { family, address, prefix }
}

function parsePrefix(text: string, max: number): number | undefined {
  return /^[0-9]{1,3}$/.test(text) && Number(text) <= max ? Number(text) : undefined
}

/** The WHATWG URL parser writes IPv6 hosts in the form of RFC 5952. */
function compressIpv6(text: string): string | undefined {
  const url = `http://[${text}]`
  return IPV6_CHARACTERS.test(text) && URL.canParse(url) ? new URL(url).hostname.slice(1, -1) : undefined
}

function dottedQuad([, high = '', low = '']: RegExpExecArray): string {
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.')
}

const INITIAL_LENGTH = 64

/** A list of numbers from 0 to 2³² − 1, with four bytes for each. */
export class Numbers {
  #numbers = new Uint32Array(INITIAL_LENGTH)
  #length = 0

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const numbers = new Uint32Array(2 * this.#length)
      numbers.set(this.#numbers)
      this.#numbers = numbers
    }
    this.#numbers[this.#length] = number
    this.#length += 1
  }

  get length(): number {
    return this.#length
  }

  at(place: number): number {
    return this.#numbers[place] ?? 0
  }

  toArray(): Uint32Array {
    return this.#numbers.slice(0, this.#length)
  }
}

/** A name and a password; `charset`: with which they become the bytes that the client sent. */
export interface NameAndPassword {
  readonly username: string
  readonly password: string
  /** Absent: UTF-8. */
  readonly charset?: 'utf8' | 'latin1'
}

/**
 * Parses the base64 text of HTTP Basic (RFC 7617). The bytes are UTF-8, and Latin-1 only if they are not valid UTF-8: many
 * clients write Latin-1. Returns `undefined` unless the text is the only spelling of a pair with a name.
 */
export function parseBasic(text: string): NameAndPassword | undefined {
  const bytes = Buffer.from(text, 'base64')
  const charset = isUtf8(bytes) ? 'utf8' : 'latin1'
  const pair = bytes.toString(charset)
  const colon = pair.indexOf(':')
  if (colon < 1 || bytes.toString('base64') !== text) return undefined
  return {
    username: pair.slice(0, colon),
    password: pair.slice(colon + 1),
    ...(charset === 'latin1' && { charset }),
  }
}

export type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }
