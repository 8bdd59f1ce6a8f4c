/**
 * How values are written that are more than text: each format says which text is legal, in words that
 * follow "must be", and what the edge reads from it.
 */
import { isIP, isIPv4 } from 'node:net'
import { resolve } from 'node:path'
import { parseAddressRange } from '../core/ip-addresses.ts'

export interface Format {
  readonly says: string
  readonly legal: (text: string) => boolean
  /** Absent: the text itself. `base` is the folder that relative paths start from. */
  readonly read?: (text: string, base: string) => number | string
}

const MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }
/** A timer above 2^31-1 ms fires at once in Node. */
const LONGEST = 2 ** 31 - 1
const LARGEST = 4 * BYTES.GiB

export const formats: Readonly<Record<string, Format>> = {
  duration: {
    says: 'a duration such as 750ms, 30s or 2m',
    legal: (text) => between(milliseconds(text), 1, LONGEST),
    read: milliseconds,
  },
  delay: {
    says: 'a duration such as 0s, 750ms or 5s',
    legal: (text) => between(milliseconds(text), 0, LONGEST),
    read: milliseconds,
  },
  size: {
    says: 'a size such as 512B, 16KiB or 64MiB',
    legal: (text) => between(bytes(text), 1, LARGEST),
    read: bytes,
  },
  path: {
    says: 'the name of a file',
    legal: (text) => !text.includes('\0'),
    read: (text, base) => resolve(base, text),
  },
  host: { says: 'a host name or an address, without a port', legal: isHost },
  cidr: {
    says: 'an address or a range such as 10.0.0.0/8 or fd00::/8 (an IPv4 range in IPv4 form, never ::ffff:…)',
    legal: (text) => parseAddressRange(text) !== undefined,
  },
  origin: { says: 'an origin such as https://console.example', legal: isOrigin },
  nodeUrl: { says: 'an address such as https://10.0.0.10:55000, without path or password', legal: isOrigin },
  redisUrl: {
    says: 'an address such as rediss://10.0.0.20:6379, without name and password (cache.redis.username, passwordFile)',
    legal: (text) =>
      /^rediss?:\/\/[^/?#@\\]+(?:\/\d{0,3})?$/.test(text) &&
      isOrigin(text.replace(/^redis/, 'http').replace(/\/\d*$/, '')),
  },
  url: {
    says: 'an https:// address (http:// on a loopback address only)',
    legal: (text) => URL.canParse(text) && (text.startsWith('https://') || isLoopbackUrl(text)),
  },
  collector: {
    says: 'an address such as https://collector.example:4318, with or without a path, without password and query',
    legal: isCollector,
    read: tracesAt,
  },
  folder: {
    says: 'an absolute folder that ends with /, such as /var/ossec/',
    legal: (text) => /^\/(?:.*\/)?$/.test(text) && !text.split('/').includes('..'),
  },
}

function milliseconds(text: string): number {
  const [, digits, unit] = /^(\d{1,12})(ms|s|m|h)$/.exec(text) ?? []
  return digits === undefined ? Number.NaN : Number(digits) * MS[unit as keyof typeof MS]
}

function bytes(text: string): number {
  const [, digits, unit] = /^(\d{1,12})(B|KiB|MiB|GiB)$/.exec(text) ?? []
  return digits === undefined ? Number.NaN : Number(digits) * BYTES[unit as keyof typeof BYTES]
}

function between(value: number, least: number, most: number): boolean {
  return value >= least && value <= most
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^(?!-)[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.?$/.test(text)
}

function isOrigin(text: string): boolean {
  if (!/^https?:\/\/[^/?#@\\]+\/?$/i.test(text) || !URL.canParse(text)) return false
  return isHost(new URL(text).hostname.replace(/^\[|\]$/g, ''))
}

/** Where OTLP puts traces, below a base address (OpenTelemetry protocol exporter, "Endpoint URLs for OTLP/HTTP"). */
const TRACES = '/v1/traces'

function tracesAt(text: string): string {
  const base = text.replace(/\/$/, '')
  return base.endsWith(TRACES) ? base : base + TRACES
}

function isCollector(text: string): boolean {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]+)((?:\/[\w.~-]+)*\/?)$/i.exec(text) ?? []
  return isOrigin(origin) && !path.includes('/..')
}

/** Does this host stay inside the machine? Names other than `localhost` may resolve to anything. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'))
}

export function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && isLoopback(new URL(text).hostname)
}
