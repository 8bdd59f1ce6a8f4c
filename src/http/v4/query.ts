/** Parameters of the v4 contract: the query of a URL, its names, and its values. */
import type { Endpoint, Param } from '../../contracts/endpoint.ts'
import { bool } from '../../contracts/v4/value.ts'
import { suggestionHeaders } from '../../core/errors.ts'
import { MAX_SEARCH_BYTES } from '../../core/node-call.ts'
import type { HttpSettings, ParsedQuery } from '../contract.ts'
import { canonicalValues, decodePair, MAX_PARAMETERS, type Values } from '../parameters.ts'
import { checkParam, type IsInRelease, type OfRelease } from './check-values.ts'
import { badRequest } from './problem.ts'
import type { ReleaseFacts } from './release-facts.ts'

/** Every operation takes them, unless its record excludes them. */
const FLAGS = ['pretty', 'wait_for_complete']

const flag: Param = { kind: 'described', role: 'flag', value: bool(false) }

export function flagsOf(endpoint: Endpoint): Readonly<Record<string, Param>> {
  return Object.fromEntries(FLAGS.filter((name) => takesFlag(endpoint, name)).map((name) => [name, flag]))
}

function takesFlag(endpoint: Endpoint, name: string): boolean {
  return endpoint.contract === 'v3' || !endpoint.withoutFlags?.includes(name)
}

/**
 * Returns the query of a URL: empty values do not count, and the last one of a name does; lists are joined. Without a list, many
 * writes mean all agents, so an empty list of a write may stay in the query, where it is refused as an invalid value, as all
 * empty values are in some releases. The flags stay in the query, where their values are checked later.
 */
export function parseQuery(
  url: string,
  endpoint: Endpoint | undefined,
  { cluster }: HttpSettings,
  { emptyParameter }: ReleaseFacts,
): ParsedQuery {
  const keepsEmptyLists = cluster.guards.emptyLists
  const query: Values = Object.create(null)
  const mark = url.indexOf('?')
  const pairs = mark < 0 ? [] : url.slice(mark + 1).split('&', MAX_PARAMETERS + 1)
  if (pairs.length > MAX_PARAMETERS) throw badRequest(`At most ${MAX_PARAMETERS} query parameters are read`)
  for (const pair of pairs) {
    const [name, value] = decodePair(pair)
    const before = query[name]
    if (value === '' && emptyParameter === 'refused') {
      if (pair !== '') query[name] = ''
    } else if (value === '') {
      if (keepsEmptyLists && before === undefined && isList(endpoint, name) && endpoint?.method !== 'GET')
        query[name] = ''
    } else query[name] = before && isList(endpoint, name) ? `${before},${value}` : value
  }
  return { query, flags: { pretty: isTrue(query.pretty), waitForComplete: isTrue(query.wait_for_complete) } }
}

function isList(endpoint: Endpoint | undefined, name: string): boolean {
  return endpoint?.query[name]?.value?.type === 'array'
}

function isTrue(text: string | undefined): boolean {
  return text?.toLowerCase() === 'true'
}

/** Throws 400 for names that the release does not have, and for mandatory ones that are missing. */
export function checkNames(endpoint: Endpoint, query: Values, isValid: IsInRelease): void {
  const isKnown = (name: string): boolean => {
    if (FLAGS.includes(name)) return takesFlag(endpoint, name)
    return Object.hasOwn(endpoint.query, name) && isValid(endpoint.query[name]?.value?.releases)
  }
  const extra = Object.keys(query).filter((name) => !isKnown(name))
  const [first] = extra
  if (first === undefined) return
  const known = [...Object.keys(endpoint.query), ...FLAGS].filter(isKnown)
  throw badRequest(`Extra query parameter(s) ${extra.join(', ')} not in spec`, suggestionHeaders(first, known))
}

/** Of these, an empty value has the wrong type. */
const TYPES_WITHOUT_EMPTY: ReadonlySet<string | undefined> = new Set(['integer', 'boolean'])

/** Replaces the values by their canonical texts. */
export function checkValues(
  described: Readonly<Record<string, Param>>,
  values: Values,
  place: 'query' | 'path',
  release: OfRelease,
): void {
  for (const [name, param] of Object.entries(described)) {
    const { ignoresCase } = param
    const text = ignoresCase && release.isInRelease(ignoresCase) ? values[name]?.toLowerCase() : values[name]
    if (text === '' && !(release.printsSchemas && TYPES_WITHOUT_EMPTY.has(param.value?.type)))
      throw badRequest(`Query parameter '${name}' is empty. Leave it out if it shall not limit anything`)
    if (text !== undefined) values[name] = checkParam(param, { name, text, place }, release)
    else if (param.required !== undefined) throw badRequest(`Missing ${place} parameter '${name}'`)
  }
}

export function checkSearch(endpoint: Endpoint, query: Values): void {
  for (const [name, text = ''] of Object.entries(query)) {
    const value = endpoint.query[name]?.value
    const isSearch = value?.type === 'string' && value.format === 'search'
    if (isSearch && Buffer.byteLength(text) > MAX_SEARCH_BYTES)
      throw badRequest(`Query parameter '${name}' is too long. The maximum is ${MAX_SEARCH_BYTES} bytes`)
  }
}

/** Returns the values that the record names, in its order. A value that is the default is left out. */
export function valuesOf(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const found = Object.entries(canonicalValues(described, values))
  return Object.fromEntries(found.filter(([name]) => values[name] !== String(described[name]?.default)))
}
