/**
 * The measured cases: the table rows of each server and their requests. A server starts only if one of its rows is
 * selected.
 */
import type { Size } from './bodies.ts'
import { lengthOf, pathOf, sizes } from './bodies.ts'
import { bare, basic, type EdgeOptions, edge, express, nginx, type Place, type Running, varnish } from './contenders.ts'
import { ALL_OFF, ALL_ON } from './report.ts'
import { checkProbe, type ExpectedResponse } from './verify.ts'

export interface Case {
  /** The row in the table. */
  readonly row: string
  readonly column: Size
  readonly server: Running
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections?: number
  readonly expected: ExpectedResponse
}

export interface Contender {
  readonly rows: readonly string[]
  /** A text is the reason why the case is skipped. */
  start(): Promise<Running | string>
  cases(server: Running): Promise<readonly Case[]>
}

const every = Object.keys(sizes) as Size[]
const EDGE_ROWS = ['Basic', 'Bearer', 'Basic, gzip', 'Basic, 304', 'Basic, no-cache'].map((row) => `edge, ${row}`)

/** In the order of the table. */
export function contenders(place: SharedPlace): readonly Contender[] {
  return [
    plain('node:http', () => bare()),
    {
      rows: EDGE_ROWS,
      start: () => withFilledCache(edge(place, { redis: place.redis })),
      cases: edgeCases,
    },
    plain('nginx', () => nginx(place)),
    plain('nginx, gzip 1', () => nginx(place, { gzip: true }), { 'accept-encoding': 'gzip' }, ['600 kB'], GZIP),
    plain('Varnish', () => varnish(place)),
    plain('Express, apicache', express, { authorization: basic }),
    plain('node:https', () => bare(true)),
    plain('edge, Basic, TLS', () => withFilledCache(edge(place, { tls: true })), { authorization: basic }, every, HIT),
    plain('nginx, TLS', () => nginx(place, { tls: true })),
    small('edge, Basic, no log', place, { log: 'silent' }),
    small(ALL_ON, place, { audit: true }),
    small(ALL_OFF, place, { log: 'silent', uncounted: true }),
    ...otherBuild(place),
    {
      rows: ['nginx, bcrypt'],
      start: () => nginx(place, { bcrypt: true }),
      // This server completes twenty requests a second in sequence, so most of 64 connections would get no response in
      // time.
      cases: async (server) =>
        bySize('nginx, bcrypt', server, { authorization: basic }, ['1.2 kB']).map((each) => ({
          ...each,
          connections: 4,
        })),
    },
  ]
}

type SharedPlace = Place & { readonly redis: string }

/** An edge with other settings, measured with the small response. */
function small(row: string, place: SharedPlace, options: EdgeOptions): Contender {
  const start = () => withFilledCache(edge(place, { redis: place.redis, ...options }))
  return plain(row, start, { authorization: basic }, ['1.2 kB'], HIT)
}

/** The same rows of another build under separate names. */
function otherBuild(place: SharedPlace): readonly Contender[] {
  const { than: build, redis } = place
  if (build === undefined) return []
  const named = (row: string) => `other ${row}`
  return [
    {
      rows: EDGE_ROWS.map(named),
      start: () => withFilledCache(edge(place, { redis, build })),
      cases: async (server) => (await edgeCases(server)).map((each) => ({ ...each, row: named(each.row) })),
    },
  ]
}

/** What differs from a plain 200 with the whole body. */
type Expectation = Partial<ExpectedResponse>

const HIT: Expectation = { cacheStatus: /; hit\b/ }
const GZIP: Expectation = { encoding: 'gzip' }

/** Returns one row with the same request for each size. */
function plain(
  row: string,
  start: Contender['start'],
  headers: Case['headers'] = {},
  columns: readonly Size[] = every,
  expected: Expectation = {},
): Contender {
  return { rows: [row], start, cases: async (server) => bySize(row, server, headers, columns, expected) }
}

function bySize(
  row: string,
  server: Running,
  headers: Case['headers'],
  columns: readonly Size[] = every,
  expected: Expectation = {},
): Case[] {
  return columns.map((column) => {
    const whole = { status: 200, length: lengthOf(column), ...expected }
    return { row, column, server, path: pathOf(column), headers, expected: whole }
  })
}

async function edgeCases(server: Running): Promise<readonly Case[]> {
  const plain = { authorization: basic, 'accept-encoding': 'identity' }
  const { headers } = await fetch(server.url + pathOf('1.2 kB'), { headers: plain })
  const etag = headers.get('etag') ?? ''
  const small: readonly Size[] = ['1.2 kB']
  const notModified = { ...HIT, status: 304, length: 0 }
  const fetched = { cacheStatus: /fwd=request/ }
  const gzip = { authorization: basic, 'accept-encoding': 'gzip' }
  return [
    ...bySize('edge, Basic', server, { authorization: basic }, every, HIT),
    ...bySize('edge, Bearer', server, { authorization: await bearer(server) }, every, HIT),
    ...bySize('edge, Basic, gzip', server, gzip, ['600 kB'], { ...HIT, ...GZIP }),
    ...bySize('edge, Basic, 304', server, { authorization: basic, 'if-none-match': etag }, small, notModified),
    ...bySize('edge, Basic, no-cache', server, { authorization: basic, 'cache-control': 'no-cache' }, small, fetched),
  ]
}

/** Returns the headers of a Bearer caller; the token is requested as clients do. */
async function bearer({ url }: Running): Promise<string> {
  const response = await fetch(`${url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: basic },
  })
  const { data } = (await response.json()) as { data: { token: string } }
  return `Bearer ${data.token}`
}

/** Fills the cache. Throws WrongResponseError if a response is no hit then: such an edge would measure its origin. */
async function withFilledCache(starting: Promise<Running>): Promise<Running> {
  const server = await starting
  try {
    for (const { row, column, path, headers, expected } of bySize(server.name, server, { authorization: basic })) {
      const probe = { name: `${row}, ${column}`, url: server.url + path, headers }
      await checkProbe({ ...probe, expected: { ...expected, cacheStatus: /manager-edge/ } })
      await checkProbe({ ...probe, expected: { ...expected, ...HIT } })
    }
    return server
  } catch (fault) {
    await server.stop()
    throw fault
  }
}
