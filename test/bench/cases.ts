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
  haproxy,
  httpProxy,
  nginx,
  type Place,
  type Running,
  varnish,
} from './contenders.ts'
import type { Traffic } from './load.ts'
import { trafficOf } from './traffic.ts'
import { checkProbe, type ExpectedResponse, type Probe, WrongResponseError } from './verify.ts'

/** The rows of the table, and what is requested in each. All but `fetch` and `miss` are hits. */
export const kinds = {
  small: '1.2 kB, Basic',
  medium: '60 kB, Basic',
  large: '600 kB, Basic',
  Bearer: '1.2 kB, Bearer',
  'not modified': '1.2 kB, Basic, If-None-Match: 304',
  tls: '1.2 kB, Basic, TLS',
  off: '1.2 kB, Basic, without log, metrics and audit',
  fetch: '1.2 kB, Basic, no-cache, one connection: each request is a call to the node',
  miss: '1.2 kB, Basic, each request for a URL that was never requested before',
  gzip: '600 kB, Basic, Accept-Encoding: gzip',
  bcrypt: '1.2 kB, Basic, nginx with the same passwords',
  real: '1.2 kB, Basic, 50 users, 200 URLs by Zipf, own traceparent, X-Request-Id and X-Forwarded-For in each request',
  wide: 'as real, with 300 users and 1,000 URLs',
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
  readonly traffic?: Traffic
  /** Each request adds another number to `path`. */
  readonly isNumbered?: boolean
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

/** `otherRedis`: of the other build. With the Redis of this one, it would find stored responses, and each would share locks. */
type SharedPlace = Place & { readonly redis: string; readonly otherRedis?: string }
/** What differs from a plain 200 with the whole body. */
type Expectation = Partial<ExpectedResponse>

/** What the kinds with requests of many users draw. */
const TRAFFIC: Partial<Record<Kind, Traffic>> = { real: trafficOf(50, 200), wide: trafficOf(300, 1000) }
const REAL = ['real', 'wide'] as const
const MAX_USERS = 300
const SIZED: Partial<Record<Kind, Size>> = { small: '1.2 kB', medium: '60 kB', large: '600 kB' }
const SIZES = ['small', 'medium', 'large'] as const
/** Requests of a URL until a hit is expected. */
const MAX_TRIES = 20
const HIT: Expectation = { cacheStatus: /; hit\b/ }
const GZIP: Expectation = { encoding: 'gzip' }
export const NODE = 'node:http'
export const NODE_TLS = 'node:https'
export const EDGE = 'edge'
/** The edge in a row that is compared with the small hit in the same round. */
export const EDGE_SMALL = 'edge, small'
export const EDGE_OFF = 'edge, all off'
export const OTHER = 'other edge'
/** The baseline of misses, which do more than bare Node: they call the origin. */
export const HTTP_PROXY = '@fastify/http-proxy'
/** The rows of the edge in `miss`. */
export const MISSES = { off: 'edge, cache off', memory: 'edge, memory', redis: 'edge, Redis' } as const
/** More clients would wait for each other at the limit of the node. */
const MISS_CONNECTIONS = 8
const realUser = TRAFFIC.real?.users[0] ?? ''

/** In the order of the table. */
export function contenders(place: SharedPlace): readonly Contender[] {
  const { than: build } = place
  const all = { redis: place.redis, audit: true }
  const { otherRedis = place.redis } = place
  const other = { redis: otherRedis, audit: true, ...(build !== undefined && { build }) }
  return [
    always(NODE, ['small', 'medium', 'large', 'Bearer', 'not modified', 'tls', 'off', 'fetch', 'gzip', ...REAL], () =>
      bare(),
    ),
    realEdge(EDGE, () => edge(place, { ...all, users: MAX_USERS })),
    edgeContender(EDGE, () => edge(place, all)),
    always(NODE_TLS, ['tls'], () => bare(true)),
    withTls(EDGE, place, all),
    hits(EDGE_OFF, ['off'], place, { redis: place.redis, log: 'silent', uncounted: true }),
    ...misses('', place),
    ...(build === undefined
      ? []
      : [
          ...misses(`${OTHER}: `, { ...place, redis: otherRedis, build }),
          edgeContender(OTHER, () => edge(place, other)),
          withTls(OTHER, place, other),
          realEdge(OTHER, () => edge(place, { ...other, users: MAX_USERS })),
        ]),
    always('nginx', [...SIZES, ...REAL], () => nginx(place)),
    always('nginx, apr1', REAL, () => nginx(place, { users: MAX_USERS }), { headers: { authorization: realUser } }),
    always('Varnish', [...SIZES, ...REAL], () => varnish(place)),
    always('HAProxy', [...SIZES, ...REAL], () => haproxy(place)),
    always('nginx', ['tls'], () => nginx(place, { tls: true })),
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

/**
 * The edge with each kind of cache; without another build, the baseline too. Redis has a second: a response that is not stored
 * because Redis was late on a busy machine is another one than this row measures.
 */
function misses(prefix: string, place: SharedPlace & { readonly build?: string }): readonly Contender[] {
  const { build } = place
  const edgeOf = (cached: EdgeOptions) => () => edge(place, { ...cached, ...(build !== undefined && { build }) })
  const isMiss: Expectation = { cacheStatus: /; fwd=uri-miss/ }
  return [
    ...(build === undefined ? [always(HTTP_PROXY, ['miss'], () => httpProxy(place))] : []),
    always(prefix + MISSES.off, ['miss'], edgeOf({ isCacheOff: true })),
    always(prefix + MISSES.memory, ['miss'], edgeOf({}), { expected: isMiss }),
    always(prefix + MISSES.redis, ['miss'], edgeOf({ redis: place.redis, redisTimeout: '1s' }), {
      expected: isMiss,
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
  const traffic = TRAFFIC[kind]
  if (kind === 'miss') {
    // A password is verified once, so that the miss is compared and not the hash.
    const request = { headers: { authorization: basic }, connections: MISS_CONNECTIONS, isNumbered: true }
    return { kind, row, server, path: '/agents/', ...request, expected }
  }
  const path = traffic?.urls[0] ?? pathOf(size)
  return {
    kind,
    row,
    server,
    path,
    headers,
    expected,
    ...(connections && { connections }),
    ...(traffic && { traffic }),
  }
}

/** An edge with many users behind a balancer. Each URL is stored and each password is verified before the first round. */
function realEdge(name: string, starting: () => Promise<Running>): Contender {
  const start = async () => {
    const server = await starting()
    for (const kind of REAL) await fillTraffic(server, TRAFFIC[kind] ?? { users: [], urls: [] })
    return server
  }
  return always(name, REAL, start, { headers: { authorization: realUser }, expected: HIT })
}

async function fillTraffic(server: Running, { users, urls }: Traffic): Promise<void> {
  for (let at = 0; at < Math.max(users.length, urls.length); at += 1) {
    const headers = { authorization: users[at % users.length] ?? '' }
    const url = server.url + (urls[at % urls.length] ?? '')
    const expected = { status: 200, length: lengthOf('1.2 kB'), ...HIT }
    await untilHit({ name: `${server.name}, ${url}`, url, headers, expected })
  }
}

/** The first response is no hit. On a busy machine, Redis may not answer in time, and the next one is none either. */
async function untilHit(probe: Probe): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await checkProbe(probe)
      return
    } catch (error) {
      if (!(error instanceof WrongResponseError) || tries === MAX_TRIES) throw error
    }
  }
}

/** An edge with other settings, measured with the small response. */
function hits(row: string, kinds: readonly Kind[], place: SharedPlace, options: EdgeOptions): Contender {
  const start = () => withFilledCache(edge(place, options))
  return always(row, kinds, start, { headers: { authorization: basic }, expected: HIT })
}

function withTls(row: string, place: SharedPlace, options: EdgeOptions): Contender {
  return hits(row, ['tls'], place, { ...options, tls: true })
}

function edgeContender(name: string, starting: () => Promise<Running>): Contender {
  const kinds: readonly Kind[] = ['small', 'medium', 'large', 'Bearer', 'not modified', 'fetch', 'gzip']
  const compared: readonly Kind[] = name === EDGE ? ['tls', 'off', 'bcrypt'] : []
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
      ? (['not modified', 'tls', 'off', 'bcrypt'] as const).map((kind) => request(kind, {}, HIT, EDGE_SMALL))
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
