/**
 * The inverse of the translation: for a recorded call, the v3 request that a client sends to get it. Written from
 * the recordings and the v3 contract, without the tables of the edge, so that both are compared.
 */
import { contract } from '../facts.ts'
import { bodyOf, type V4Exchange } from './exchanges.ts'
import { type Inverse, inverses, type V3Value } from './inverses.ts'
import type { Derived, Reason, V3Request } from './v3-request.ts'

export function isOfEndpoint({ v3 }: V4Exchange): boolean {
  return /^[A-Z]+ \//.test(v3)
}

export function v3RequestOf(exchange: V4Exchange): Derived {
  const { request, node } = exchange
  if (/^[A-Z]+ \/cache/.test(exchange.v3)) return none('cache')
  if (isUnknownToNode(exchange)) return none('noSuchCall')
  if (request.body !== null && /^<\d+ bytes>$/.test(request.body)) return none('placeholder')
  if (node !== 'master' && exchange.v3 === 'PUT /manager/restart') return none('ownRestart')
  const attempts = candidatesOf(exchange).map(([endpoint, inverse]) => tryInverse(exchange, endpoint, inverse))
  const derived = attempts.find(({ kind }) => kind === 'request')
  return (
    derived ??
    attempts.find((attempt) => !('reason' in attempt && attempt.reason === 'noSuchCall')) ??
    none('noSuchCall')
  )
}

const none = (reason: Reason): Derived => ({ kind: 'none', reason })

/** Answers of the node's router and of its checks of names: nothing of the endpoint itself. */
function isUnknownToNode(exchange: V4Exchange): boolean {
  const { status } = exchange.response
  const body = bodyOf(exchange)
  if ((status === 404 || status === 405) && body?.error === undefined) return true
  return status === 400 && body?.error === undefined && /Extra query|Missing query/.test(body?.detail ?? '')
}

/** Forms of values that the edge never sends. */
function unsentValue({ request, response, v3 }: V4Exchange, sent: ReadonlyMap<string, string>): Reason | undefined {
  const { detail } = bodyOf({ response } as V4Exchange) ?? {}
  if (/expected 'boolean'/.test(detail ?? '')) return 'flag'
  if ((sent.get('agents_list') ?? '').split(',').some((id) => /^\d+$/.test(id) && !/^\d{3}$/.test(id))) return 'padded'
  if (/^\/agents\/\d{1,2}\//.test(request.path)) return 'padded'
  if (/"id": "(?:\d{1,2}|0\d{3,})"/.test(request.body ?? '')) return 'padded'
  if (v3.endsWith('/logs') && Number(sent.get('limit')) > 500) return 'pages'
  return undefined
}

/** A worker that is asked for itself answers as `/cluster/<its name>/…` does. */
function candidatesOf({ v3, node, request }: V4Exchange): (readonly [string, Inverse])[] {
  const isOwn = node !== 'master' && request.path.startsWith('/manager/')
  const endpoint = isOwn ? v3.replace(' /manager/', ' /cluster/:node_id/') : v3
  return (inverses[endpoint] ?? []).map((inverse) => [endpoint, inverse])
}

function tryInverse(exchange: V4Exchange, endpoint: string, inverse: Inverse): Derived {
  const { request, node } = exchange
  const [path = '', text = ''] = request.path.split(/\?(.*)/s)
  const sent = queryOf(text)
  if ([...sent].some(([, value]) => value === '')) return none('emptyValue')
  const unsent = unsentValue(exchange, sent)
  if (unsent !== undefined) return none(unsent)
  const [template = '', fixed = ''] = inverse.call.split('?')
  const params = matchPath(template, `${request.method} ${path}`, node)
  if (params === undefined) return none('noSuchCall')
  for (const [name, wanted] of new URLSearchParams(fixed)) {
    const value = sent.get(name)
    sent.delete(name)
    if (value === undefined) return none('incomplete')
    if (wanted.startsWith(':')) {
      if (value.includes(',') && !inverse.list) return none('severalTargets')
      params[wanted.slice(1)] = value
    } else if (value !== wanted) return none('incomplete')
  }
  const query = toV3Query(endpoint, sent, inverse)
  if (typeof query === 'string') return none(query)
  const made = { endpoint, params, query, asked: node }
  if (inverse.finish) {
    const finished = inverse.finish({ ...made, ...rawBodyOf(exchange) }, exchange)
    return typeof finished === 'string' ? none(finished) : { kind: 'request', request: finished }
  }
  return { kind: 'request', request: { ...made, ...rawBodyOf(exchange) } }
}

/** As the node reads it: the last of several values counts, those of `select` are joined. */
function queryOf(text: string): Map<string, string> {
  const sent = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text.replaceAll('+', '%2B'))) {
    const before = sent.get(name)
    sent.set(name, name === 'select' && before !== undefined ? `${before},${value}` : value)
  }
  return sent
}

function matchPath(template: string, call: string, node: string): Record<string, string> | undefined {
  const own = template.replace('/cluster/:node_id/', '/manager/')
  const names = template.split('/')
  const parts = call.split('/')
  if (own !== template && node !== 'master' && matches(own.split('/'), parts)) {
    return { ...bind(own.split('/'), parts), node_id: node }
  }
  return matches(names, parts) ? bind(names, parts) : undefined
}

const matches = (names: readonly string[], parts: readonly string[]) =>
  names.length === parts.length && names.every((name, index) => name.startsWith(':') || name === parts[index])

function bind(names: readonly string[], parts: readonly string[]): Record<string, string> {
  const pairs = names.flatMap((name, index) =>
    name.startsWith(':') ? [[name.slice(1), decodeURIComponent(parts[index] ?? '')] as const] : [],
  )
  return Object.fromEntries(pairs)
}

function toV3Query(
  endpoint: string,
  sent: ReadonlyMap<string, string>,
  inverse: Inverse,
): Record<string, string | true> | Reason {
  const known = contract.endpoints.find(({ id }) => id === endpoint)?.query_params?.map(({ name }) => name) ?? []
  const beyond = endpoint.startsWith('GET /experimental/') ? ['agent_id'] : []
  const query: Record<string, string | true> = {}
  for (const [name, value] of sent) {
    if (name === 'pretty' || name === 'wait_for_complete') {
      if (value !== '' && value !== 'false') query[name] = true
      continue
    }
    const v3 = inverse.names?.[name] ?? name
    if (![...known, ...beyond, ...(inverse.alsoKnown ?? [])].includes(v3)) return 'onlyV4'
    const converted = v3ValueOf(name, value, inverse)
    if (converted === undefined) return 'onlyV4'
    if (converted === null) return 'v3Word'
    if (converted !== false) query[v3] = converted
  }
  return query
}

function v3ValueOf(name: string, value: string, inverse: Inverse): V3Value {
  const own = inverse.values?.[name]
  if (own !== undefined) return own(value)
  const field = (text: string) => (inverse.field === undefined ? text : inverse.field(text))
  const fieldsOf = (pattern: RegExp) => [...value.matchAll(pattern)].map(([text]) => field(text))
  switch (name) {
    case 'search':
      return value.startsWith('-') ? `!${value.slice(1)}` : value
    case 'select':
    case 'fields':
    case 'sort': {
      if (fieldsOf(FIELD).includes(null)) return null
      return value.replace(FIELD, (text) => field(text) ?? text)
    }
    case 'q':
      return value.replace(
        /([\w.-]+)(=|!=|<|>|~)([^;,]*)/g,
        (_, of: string, operator: string, operand: string) =>
          `${field(of)}${operator}${inverse.operand?.(of, operand) ?? operand}`,
      )
    default:
      return value
  }
}

/** A field of a list, without its sign. */
const FIELD = /(?<=^|,|^[+-]|,[+-])[^,+-][^,]*/g

function rawBodyOf({ request }: V4Exchange): Pick<V3Request, 'body'> {
  const type = request.headers['Content-Type']
  if (request.body === null && type === undefined) return {}
  return { body: { type: type ?? '', text: request.body ?? '' } }
}

/** Returns path and query of the request as a client sends them. */
export function urlOf({ endpoint, params, query }: V3Request): string {
  const path = endpoint
    .replace(/^\w+ /, '')
    .split('/')
    .map((part) => (part.startsWith(':') ? encodeURIComponent(params[part.slice(1)] ?? '') : part))
    .join('/')
  const pairs = Object.entries(query).map(([name, value]) =>
    value === true ? name : `${name}=${encodeURIComponent(value)}`,
  )
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}
