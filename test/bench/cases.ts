/** What is measured: which rows each server gives, and the requests behind them. A server is started only when one of its rows is asked for. */
import type { Size } from './bodies.ts'
import { pathOf, sizes } from './bodies.ts'
import { bare, basic, type EdgeOptions, edge, express, nginx, type Place, type Running, varnish } from './contenders.ts'
import { EVERYTHING, NOTHING } from './report.ts'

export interface Case {
  /** Its row in the table. */
  readonly row: string
  readonly column: Size
  readonly server: Running
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections?: number
}

export interface Contender {
  readonly rows: readonly string[]
  /** A text says in words why it is left out. */
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
      start: () => kept(edge(place, { redis: place.redis })),
      cases: edgeCases,
    },
    plain('nginx', () => nginx(place)),
    plain('nginx, gzip 1', () => nginx(place, { gzip: true }), { 'accept-encoding': 'gzip' }, ['600 kB']),
    plain('Varnish', () => varnish(place)),
    plain('Express, apicache', express, { authorization: basic }),
    plain('node:https', () => bare(true)),
    plain('edge, Basic, TLS', () => kept(edge(place, { tls: true })), { authorization: basic }),
    plain('nginx, TLS', () => nginx(place, { tls: true })),
    small('edge, Basic, no log', place, { log: 'silent' }),
    small(EVERYTHING, place, { audit: true }),
    small(NOTHING, place, { log: 'silent', uncounted: true }),
    ...otherBuild(place),
    {
      rows: ['nginx, bcrypt'],
      start: () => nginx(place, { bcrypt: true }),
      // It answers twenty a second, one after another: of 64 that ask, most would not be answered in the time.
      cases: async (server) =>
        bySize('nginx, bcrypt', server, { authorization: basic }, ['1.2 kB']).map((each) => ({
          ...each,
          connections: 4,
        })),
    },
  ]
}

type SharedPlace = Place & { readonly redis: string }

/** An edge with other settings, and the small answer of it. */
function small(row: string, place: SharedPlace, options: EdgeOptions): Contender {
  const start = () => kept(edge(place, { redis: place.redis, ...options }))
  return plain(row, start, { authorization: basic }, ['1.2 kB'])
}

/** The same rows of another build, under names of their own. */
function otherBuild(place: SharedPlace): readonly Contender[] {
  const { than: build, redis } = place
  if (build === undefined) return []
  const named = (row: string) => `other ${row}`
  return [
    {
      rows: EDGE_ROWS.map(named),
      start: () => kept(edge(place, { redis, build })),
      cases: async (server) => (await edgeCases(server)).map((each) => ({ ...each, row: named(each.row) })),
    },
  ]
}

/** One row, the same request for each size. */
function plain(
  row: string,
  start: Contender['start'],
  headers: Case['headers'] = {},
  columns: readonly Size[] = every,
): Contender {
  return { rows: [row], start, cases: async (server) => bySize(row, server, headers, columns) }
}

function bySize(row: string, server: Running, headers: Case['headers'], columns: readonly Size[] = every): Case[] {
  return columns.map((column) => ({ row, column, server, path: pathOf(column), headers }))
}

async function edgeCases(server: Running): Promise<readonly Case[]> {
  const { headers } = await fetch(server.url + pathOf('1.2 kB'), { headers: { authorization: basic } })
  const etag = headers.get('etag') ?? ''
  return [
    ...bySize('edge, Basic', server, { authorization: basic }),
    ...bySize('edge, Bearer', server, { authorization: await bearer(server) }),
    ...bySize('edge, Basic, gzip', server, { authorization: basic, 'accept-encoding': 'gzip' }, ['600 kB']),
    ...bySize('edge, Basic, 304', server, { authorization: basic, 'if-none-match': etag }, ['1.2 kB']),
    ...bySize('edge, Basic, no-cache', server, { authorization: basic, 'cache-control': 'no-cache' }, ['1.2 kB']),
  ]
}

/** The headers of a Bearer caller, the token asked for as clients do. */
async function bearer({ url }: Running): Promise<string> {
  const response = await fetch(`${url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: basic },
  })
  const { data } = (await response.json()) as { data: { token: string } }
  return `Bearer ${data.token}`
}

/** An edge that keeps nothing would be measured as its origin. */
async function kept(starting: Promise<Running>): Promise<Running | string> {
  const server = await starting
  for (const size of every) await fetch(server.url + pathOf(size), { headers: { authorization: basic } })
  const again = await fetch(server.url + pathOf('1.2 kB'), { headers: { authorization: basic } })
  if (/\bhit\b/.test(again.headers.get('cache-status') ?? '')) return server
  await server.stop()
  return 'the edge keeps nothing'
}
