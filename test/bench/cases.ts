/**
 * The measured cases: the kinds of hits, and for each kind the servers that are compared. Each kind is measured beside
 * bare node:http in the same round. A server starts only if one of its cases is selected.
 */
import type { Size } from './bodies.ts'
import { lengthOf, pathOf } from './bodies.ts'
import {
  bare,
  basic,
  type EdgeOptions,
  edge,
  express,
  haproxy,
  nginx,
  type Place,
  type Running,
  varnish,
} from './contenders.ts'
import { checkProbe, type ExpectedResponse } from './verify.ts'

/** The rows of the table, and what is requested in each. */
export const kinds = {
  small: '1.2 kB, Basic',
  medium: '60 kB, Basic',
  large: '600 kB, Basic',
  Bearer: '1.2 kB, Bearer',
  'not modified': '1.2 kB, Basic, If-None-Match: 304',
  TLS: '1.2 kB, Basic, TLS',
  off: '1.2 kB, Basic, without log, metrics and audit',
  fetch: '1.2 kB, Basic, no-cache, one connection: each request is a call to the node',
  gzip: '600 kB, Basic, Accept-Encoding: gzip',
  bcrypt: '1.2 kB, Basic, nginx with the same passwords',
} as const

export type Kind = keyof typeof kinds

export interface Case {
  readonly kind: Kind
  /** The name of the server in the table. */
  readonly row: string
  readonly server: Running
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections?: number
  readonly expected: ExpectedResponse
}

/** A server and the kinds in which it is measured. */
export interface Contender {
  readonly name: string
  readonly kinds: readonly Kind[]
  /** A text is the reason why the server is skipped. */
  start(): Promise<Running | string>
  cases(server: Running): Promise<readonly Case[]>
}

type SharedPlace = Place & { readonly redis: string }
/** What differs from a plain 200 with the whole body. */
type Expectation = Partial<ExpectedResponse>

const SIZED: Partial<Record<Kind, Size>> = { small: '1.2 kB', medium: '60 kB', large: '600 kB' }
const SIZES = ['small', 'medium', 'large'] as const
const HIT: Expectation = { cacheStatus: /; hit\b/ }
const GZIP: Expectation = { encoding: 'gzip' }
export const NODE = 'node:http'
export const NODE_TLS = 'node:https'
export const EDGE = 'edge'
/** The edge in a row that is compared with the small hit in the same round. */
export const EDGE_SMALL = 'edge, small'
export const EDGE_OFF = 'edge, all off'
export const OTHER = 'other edge'

/** In the order of the table. */
export function contenders(place: SharedPlace): readonly Contender[] {
  const { than: build } = place
  const all = { redis: place.redis, audit: true }
  return [
    always(NODE, ['small', 'medium', 'large', 'Bearer', 'not modified', 'TLS', 'off', 'fetch', 'gzip'], () =>
      bare(false, place.profiles),
    ),
    edgeContender(EDGE, () => edge(place, all)),
    always(NODE_TLS, ['TLS'], () => bare(true, place.profiles)),
    withTls(EDGE, place, all),
    hits(EDGE_OFF, ['off'], place, { redis: place.redis, log: 'silent', uncounted: true }),
    ...(build === undefined
      ? []
      : [edgeContender(OTHER, () => edge(place, { ...all, build })), withTls(OTHER, place, { ...all, build })]),
    always('nginx', SIZES, () => nginx(place)),
    always('Varnish', SIZES, () => varnish(place)),
    always('HAProxy', SIZES, () => haproxy(place)),
    always('Express, apicache', SIZES, express, { headers: { authorization: basic } }),
    always('nginx', ['TLS'], () => nginx(place, { tls: true })),
    always('nginx, gzip 1', ['gzip'], () => nginx(place, { gzip: true }), {
      headers: { 'accept-encoding': 'gzip' },
      expected: GZIP,
    }),
    // This server completes twenty requests a second in sequence, so most of 64 connections would get no response.
    always('nginx', ['bcrypt'], () => nginx(place, { bcrypt: true }), {
      headers: { authorization: basic },
      connections: 4,
    }),
  ]
}

/** A server that gets the same request in all its kinds, in the size of the kind. */
function always(
  name: string,
  kinds: readonly Kind[],
  start: Contender['start'],
  request: { headers?: Case['headers']; expected?: Expectation; connections?: number } = {},
): Contender {
  const cases = async (server: Running) => kinds.map((kind) => caseOf(kind, name, server, request))
  return { name: `${name} (${kinds.join(', ')})`, kinds, start, cases }
}

function caseOf(
  kind: Kind,
  row: string,
  server: Running,
  request: { headers?: Case['headers']; expected?: Expectation; connections?: number; size?: Size } = {},
): Case {
  const { headers = {}, connections, size = SIZED[kind] ?? (kind === 'gzip' ? '600 kB' : '1.2 kB') } = request
  const expected = { status: 200, length: lengthOf(size), ...request.expected }
  return { kind, row, server, path: pathOf(size), headers, expected, ...(connections && { connections }) }
}

/** An edge with other settings, measured with the small response. */
function hits(row: string, kinds: readonly Kind[], place: SharedPlace, options: EdgeOptions): Contender {
  const start = () => withFilledCache(edge(place, options))
  return always(row, kinds, start, { headers: { authorization: basic }, expected: HIT })
}

function withTls(row: string, place: SharedPlace, options: EdgeOptions): Contender {
  return hits(row, ['TLS'], place, { ...options, tls: true })
}

function edgeContender(name: string, starting: () => Promise<Running>): Contender {
  const kinds: readonly Kind[] = ['small', 'medium', 'large', 'Bearer', 'not modified', 'fetch', 'gzip']
  const compared: readonly Kind[] = name === EDGE ? ['TLS', 'off', 'bcrypt'] : []
  return {
    name,
    kinds: [...kinds, ...compared],
    start: () => withFilledCache(starting()),
    cases: (server) => edgeCases(name, server),
  }
}

/** This build is also measured with the small hit in the kinds whose goals compare with it. */
async function edgeCases(name: string, server: Running): Promise<readonly Case[]> {
  const plain = { authorization: basic, 'accept-encoding': 'identity' }
  const { headers: found } = await fetch(server.url + pathOf('1.2 kB'), { headers: plain })
  const request = (kind: Kind, headers: Case['headers'], expected: Expectation, row = name) =>
    caseOf(kind, row, server, { headers: { authorization: basic, ...headers }, expected })
  const notModified = { ...HIT, status: 304, length: 0 }
  return [
    ...SIZES.map((kind) => request(kind, {}, HIT)),
    request('Bearer', { authorization: await bearer(server) }, HIT),
    request('not modified', { 'if-none-match': found.get('etag') ?? '' }, notModified),
    // Requests of several connections would share calls to the node.
    caseOf('fetch', name, server, {
      headers: { authorization: basic, 'cache-control': 'no-cache' },
      expected: { cacheStatus: /fwd=request/ },
      connections: 1,
    }),
    request('gzip', { 'accept-encoding': 'gzip' }, { ...HIT, ...GZIP }),
    ...(name === EDGE
      ? (['not modified', 'TLS', 'off', 'bcrypt'] as const).map((kind) => request(kind, {}, HIT, EDGE_SMALL))
      : []),
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
    for (const kind of SIZES) {
      const { path, headers, expected } = caseOf(kind, '', server, { headers: { authorization: basic } })
      const probe = { name: `${server.name}, ${kind}`, url: server.url + path, headers }
      await checkProbe({ ...probe, expected: { ...expected, cacheStatus: /manager-edge/ } })
      await checkProbe({ ...probe, expected: { ...expected, ...HIT } })
    }
    return server
  } catch (fault) {
    await server.stop()
    throw fault
  }
}
