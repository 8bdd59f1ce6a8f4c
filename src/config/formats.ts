/** Formats of settings that are written as text: which texts are valid, and which value each text gives. */
import { isIP, isIPv4 } from 'node:net'
import { join, resolve } from 'node:path'
import { ownEntry, parseAddressRange } from '../core/values.ts'
import type { SchemaNode } from './tree.ts'

interface Format {
  /** Follows "must be" in a message. */
  readonly description: string
  /** Returns whether the text is valid. The member has the name that Ajv expects. */
  readonly validate: (text: string) => boolean
  /** Absent: the value is the text. `base` is the folder that relative paths start from. */
  readonly parse?: (text: string, base: string) => number | string
  /** The units of a number, in ascending order. Absent: the value has none. */
  readonly units?: Readonly<Record<string, number>>
}

const MILLISECONDS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const BYTES = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }
/** Node fires a longer timer at once. */
const MAX_DURATION_MS = 2 ** 31 - 1
const MAX_SIZE_BYTES = 4 * BYTES.GiB

export const durationFormat = numberWith(MILLISECONDS, 'a duration such as 750ms, 30s or 2m', MAX_DURATION_MS)

export const formats: Readonly<Record<string, Format>> = {
  duration: durationFormat,
  size: numberWith(BYTES, 'a size such as 512B, 16KiB or 64MiB', MAX_SIZE_BYTES),
  path: {
    description: 'a path',
    validate: (text) => !text.includes('\0'),
    parse: (text, base) => resolve(base, text),
  },
  host: { description: 'a host name or an address, without a port', validate: isHost },
  cidr: {
    description: 'an address or a range such as 10.0.0.0/8 or fd00::/8 (an IPv4 range in IPv4 form, never ::ffff:…)',
    validate: (text) => parseAddressRange(text) !== undefined,
  },
  origin: { description: 'an origin such as https://console.example', validate: isOrigin },
  nodeUrl: { description: 'a URL such as https://10.0.0.10:55000, without path or password', validate: isOrigin },
  redisUrl: {
    description:
      'a URL such as rediss://10.0.0.20:6379, without name and password (cache.redis.username, passwordFile)',
    validate: (text) =>
      /^rediss?:\/\/[^/?#@\\]+(?:\/\d{0,3})?$/.test(text) &&
      isOrigin(text.replace(/^redis/, 'http').replace(/\/\d*$/, '')),
  },
  url: {
    description: 'an https:// URL (http:// for a loopback address only)',
    validate: (text) => URL.canParse(text) && (text.startsWith('https://') || isLoopbackUrl(text)),
  },
  collector: {
    description: 'a URL such as https://collector.example:4318, with or without a path, without password and query',
    validate: isCollector,
    parse: toTracesUrl,
  },
  replicaName: {
    description: 'up to 128 letters, digits and . _ : -, such as edge-1 or rack2.edge',
    validate: (text) => /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(text),
  },
  packageName: {
    description: 'the name of a package such as @fastify/helmet',
    validate: (text) => /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/.test(text),
    parse: (text, base) => join(base, 'node_modules', text),
  },
  folder: {
    description: 'an absolute folder that ends with /, such as /var/ossec/',
    validate: (text) => /^\/(?:.*\/)?$/.test(text) && !text.split('/').includes('..'),
  },
}

/** Returns what follows "must be" in a message. */
export function describeFormat({ format = '', bounds }: SchemaNode): string | undefined {
  const { description, units } = formats[format] ?? {}
  if (units === undefined || (bounds?.min ?? 0) > 0) return description
  return `${description}, or 0${Object.keys(units)[0]}`
}

/** The format of a whole number that is followed by its unit. `max`: in the first unit. */
function numberWith(units: Readonly<Record<string, number>>, description: string, max: number) {
  const parse = (text: string): number => {
    const [, digits, unit = ''] = /^(\d{1,12})([A-Za-z]+)$/.exec(text) ?? []
    return Number(digits) * (ownEntry(units, unit) ?? Number.NaN)
  }
  const validate = (text: string): boolean => parse(text) <= max
  return { description, validate, parse, units } satisfies Format
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || /^(?!-)[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*\.?$/.test(text)
}

function isOrigin(text: string): boolean {
  if (!/^https?:\/\/[^/?#@\\]+\/?$/i.test(text) || !URL.canParse(text)) return false
  return isHost(new URL(text).hostname.replace(/^\[|\]$/g, ''))
}

/** Path of traces below the base URL (OpenTelemetry protocol exporter, "Endpoint URLs for OTLP/HTTP"). */
const TRACES_PATH = '/v1/traces'

function toTracesUrl(text: string): string {
  const base = text.replace(/\/$/, '')
  return base.endsWith(TRACES_PATH) ? base : base + TRACES_PATH
}

function isCollector(text: string): boolean {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]+)((?:\/[\w.~-]+)*\/?)$/i.exec(text) ?? []
  return isOrigin(origin) && !path.includes('/..')
}

/** Returns whether this host is this machine. A name other than `localhost` may resolve to any address. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare === '::1' || (isIPv4(bare) && bare.startsWith('127.'))
}

export function isLoopbackUrl(text: string): boolean {
  return URL.canParse(text) && isLoopback(new URL(text).hostname)
}
