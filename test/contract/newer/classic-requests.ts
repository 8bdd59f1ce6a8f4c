/**
 * The inverse of the translation: for a recorded call, the classic request that a client sends to get it. Written from
 * the recordings and the classic contract, without the tables of the edge, so that both are compared.
 */
import { contract } from '../facts.ts'
import type { ClassicRequest, Derived, Reason } from './classic-request.ts'
import { bodyOf, type NewerExchange } from './exchanges.ts'
import { type ClassicValue, type Inverse, inverses } from './inverses.ts'

export function isOfEndpoint({ classic }: NewerExchange): boolean {
  return /^[A-Z]+ \//.test(classic)
}

export function classicRequestOf(exchange: NewerExchange): Derived {
  const { request, node } = exchange
  if (/^[A-Z]+ \/cache/.test(exchange.classic)) return none('cache')
  if (isUnknownToNode(exchange)) return none('noSuchCall')
  if (request.body !== null && /^<\d+ bytes>$/.test(request.body)) return none('placeholder')
  if (node !== 'master' && exchange.classic === 'PUT /manager/restart') return none('ownRestart')
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
function isUnknownToNode(exchange: NewerExchange): boolean {
  const { status } = exchange.response
  const body = bodyOf(exchange)
  if ((status === 404 || status === 405) && body?.error === undefined) return true
  return status === 400 && body?.error === undefined && /Extra query|Missing query/.test(body?.detail ?? '')
}

/** Forms of values that the edge never sends. */
function unsentValue(
  { request, response, classic }: NewerExchange,
  sent: ReadonlyMap<string, string>,
): Reason | undefined {
  const { detail } = bodyOf({ response } as NewerExchange) ?? {}
  if (/expected 'boolean'/.test(detail ?? '')) return 'flag'
  if ((sent.get('agents_list') ?? '').split(',').some((id) => /^\d+$/.test(id) && !/^\d{3}$/.test(id))) return 'padded'
  if (/^\/agents\/\d{1,2}\//.test(request.path)) return 'padded'
  if (/"id": "(?:\d{1,2}|0\d{3,})"/.test(request.body ?? '')) return 'padded'
  if (classic.endsWith('/logs') && Number(sent.get('limit')) > 500) return 'pages'
  return undefined
}

/** A worker that is asked for itself answers as `/cluster/<its name>/…` does. */
function candidatesOf({ classic, node, request }: NewerExchange): (readonly [string, Inverse])[] {
  const isOwn = node !== 'master' && request.path.startsWith('/manager/')
  const endpoint = isOwn ? classic.replace(' /manager/', ' /cluster/:node_id/') : classic
  return (inverses[endpoint] ?? []).map((inverse) => [endpoint, inverse])
}

function tryInverse(exchange: NewerExchange, endpoint: string, inverse: Inverse): Derived {
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
  const query = toClassicQuery(endpoint, sent, inverse)
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

function toClassicQuery(
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
    const classic = inverse.names?.[name] ?? name
    if (![...known, ...beyond, ...(inverse.alsoKnown ?? [])].includes(classic)) return 'onlyNewer'
    const converted = classicValueOf(name, value, inverse)
    if (converted === undefined) return 'onlyNewer'
    if (converted === null) return 'classicWord'
    if (converted !== false) query[classic] = converted
  }
  return query
}

function classicValueOf(name: string, value: string, inverse: Inverse): ClassicValue {
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

function rawBodyOf({ request }: NewerExchange): Pick<ClassicRequest, 'body'> {
  const type = request.headers['Content-Type']
  if (request.body === null && type === undefined) return {}
  return { body: { type: type ?? '', text: request.body ?? '' } }
}

/** Returns path and query of the request as a client sends them. */
export function urlOf({ endpoint, params, query }: ClassicRequest): string {
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
