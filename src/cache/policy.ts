/**
 * What an endpoint record means for the cache: may its responses be stored, which values are part of the key, which
 * tags does a read carry, and which tags does a write invalidate; and how long a response is served. `Tag` in
 * contracts/endpoint.ts defines the templates.
 */
import type {
  CacheGroup,
  CachePolicy,
  Collection,
  ConditionalTags,
  Endpoint,
  Param,
  SnapshotRows,
  StaleLimit,
  StoringPolicy,
  Tag,
  V4Rows,
  WriteEndpoint,
} from '../contracts/endpoint.ts'
import { nameOf } from '../core/endpoint-names.ts'
import { type EdgeRead, type EdgeRequest, type EdgeWrite, fieldsOf, nodeOf } from '../core/request.ts'
import { NEVER_STALE } from '../core/response.ts'
import { ownEntry, ownField } from '../core/values.ts'
import { endpointTag } from './stores/epochs.ts'
import type { StaleTimes } from './stores/local-entries.ts'

export interface CompiledPolicy {
  /** The name of the endpoint, which the settings of lifetimes and purges have. */
  readonly name: string
  readonly group: CacheGroup
  /** `rights`: the response depends on the permissions of the caller. */
  readonly scope: 'everyone' | 'rights'
  /** Whether responses are served after their freshness lifetime; `whileHot` as in the catalogue. */
  readonly stale: 'allowed' | StaleLimit
  /** Path and query parameters, sorted by name. */
  readonly params: readonly (readonly [string, Param])[]
  readonly query: readonly (readonly [string, Param])[]
  /** Returns the tags of a read; `master` is the name of the master node. */
  readonly tagsOf: (request: EdgeRead, master: string) => readonly Tag[]
  /** With this query parameter the response is a file, which is streamed. */
  readonly rawWhen?: string
  /** The response is joined from those of several nodes. */
  readonly isJoined: boolean
  /** Worker nodes answer from data that they replicate from the master. */
  readonly isReplicated: boolean
  /** The kind of rows that snapshots of the collection have; absent: there are none. */
  readonly snapshot?: SnapshotRows | V4Rows
  /**
   * The kind of rows that the edge computes responses of: from a snapshot, or while no node answers from a stored response
   * that has all rows; absent: it computes none.
   */
  readonly rows?: Collection | V4Rows
}

const policies = new WeakMap<Endpoint, CompiledPolicy | string>()

/** Returns the policy of a record, or as text why its responses are never stored. Computed once for each record. */
export function compilePolicy(record: Endpoint): CompiledPolicy | string {
  const known = policies.get(record)
  if (known !== undefined) return known
  const policy = compile(record)
  policies.set(record, policy)
  return policy
}

function compile(record: Endpoint): CompiledPolicy | string {
  if (!('cache' in record)) return 'it is a write'
  const policy: CachePolicy = record.cache
  if ('never' in policy) return policy.never
  // The catalogue is checked for this by the build too; a secret must not depend on one check.
  if (record.secret !== 'none') return 'it may hold a secret'
  if (record.target.kind === 'edge') return 'the edge answers it itself'
  const raw: Endpoint['response']['raw'] = record.response.raw
  const params: Readonly<Record<string, Param>> = record.params
  const name = nameOf(record)
  return {
    name,
    group: policy.group,
    scope: policy.scope,
    stale: policy.stale ?? 'allowed',
    params: Object.entries(params).sort(byName),
    query: Object.entries(record.query).sort(byName),
    tagsOf: compileReadTags(policy, name),
    ...(raw?.when !== undefined && { rawWhen: raw.when }),
    isJoined: record.target.kind === 'everyNode' || record.target.kind === 'severalNodes',
    isReplicated: record.target.kind === 'anyNode',
    ...rowsOf(record, policy),
  }
}

/** A response of several nodes is joined from stored parts of theirs. */
function rowsOf(
  { query, target }: Endpoint,
  { snapshot, storedRows = 'pages', tags }: StoringPolicy,
): Pick<CompiledPolicy, 'snapshot' | 'rows'> | undefined {
  if (tags.some(dependsOnQuery)) return undefined
  if (snapshot !== undefined) return { snapshot, rows: snapshot }
  const isPaged = ['offset', 'limit'].every((name) => Object.hasOwn(query, name)) && target.kind !== 'severalNodes'
  return isPaged && storedRows !== 'none' ? { rows: storedRows } : undefined
}

/** A snapshot has the tags of all its queries. */
function dependsOnQuery(tag: Tag): boolean {
  return tag.includes('{query.')
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

/** A place in a template, in the request or response that a value is taken from, with the text around it. */
const FIRST_PLACE = /^([^{]*)\{([^}]*)\}(.*)$/s
const EACH_PLACE = /\{[^}]*\}/g

interface TemplateValues {
  readonly request: EdgeRequest
  readonly master: string
  /** `data` of a successful response; absent before the response, and without a successful one. */
  readonly data?: unknown
}

/**
 * A read carries the tags of its record, the wildcard of each family (`agent:*` beside `agent:001`), and the tags that
 * `DELETE /cache` uses.
 */
function compileReadTags(
  { tags, group }: Extract<CachePolicy, { tags: readonly Tag[] }>,
  name: string,
): CompiledPolicy['tagsOf'] {
  const families = tags.filter((tag) => tag.includes('{')).map((tag) => tag.replaceAll(EACH_PLACE, '*'))
  const fixed = ['cache', `cache:${group}`, endpointTag(name), ...families]
  return (request, master) => {
    const node = nodeOf(request)
    // The part of one node in a joined response is data of that node, not of the master.
    const values = { request, master: node ?? master }
    const nodeTags = node === undefined ? [] : [`node:${node}`, 'node:*']
    return [...new Set([...fixed, ...tags.flatMap((tag) => expand(tag, values)), ...nodeTags])]
  }
}

export type InvalidatedTags = ReturnType<typeof invalidatedTags>

/** Returns the tags that a write invalidates; `master` is the name of the master node. */
export function invalidatedTags(record: WriteEndpoint, request: EdgeWrite, master: string) {
  const templates = record.invalidates.flatMap((entry) => applicableTags(entry, request))
  const ofResponse = templates.filter(needsResponse)
  const ofRequest = templates.filter((template) => !ofResponse.includes(template))
  return {
    /** Known before the request is sent to a node. */
    fromRequest: expandAll(ofRequest, { request, master }),
    /** Named by the response. Without `data`, or without the named field in it, the wildcard of the family. */
    fromResponse: (data?: unknown) => expandAll(ofResponse, { request, master, data }),
  }
}

function expandAll(templates: readonly Tag[], values: TemplateValues): readonly Tag[] {
  return [...new Set(templates.flatMap((template) => expand(template, values)))]
}

/** Returns the name of the write lock of a request; several values make one name. */
export function lockNameOf(template: Tag, request: EdgeWrite, master: string): string {
  return expand(template, { request, master }).join(' ')
}

function applicableTags(entry: Tag | ConditionalTags, request: EdgeWrite): readonly Tag[] {
  if (typeof entry === 'string') return [entry]
  const pattern = new RegExp(entry.matches)
  const values = valuesOf(entry.value, { request, master: '' }, false)
  return values.some((value) => pattern.test(value)) ? entry.tags : []
}

/** Returns the pattern of the tags that a template makes, where `anyValue` is the pattern of its values. */
export function patternOf(template: Tag, anyValue: string): string {
  const texts = template.split(EACH_PLACE)
  return texts.map((text) => text.replaceAll(/\W/g, '\\$&')).join(anyValue)
}

export function needsResponse(template: Tag): boolean {
  return template.includes('{answer.')
}

/** A place with more values is expanded to the wildcard of the family: one tag instead of thousands. */
const MAX_VALUES_PER_PLACE = 50

/**
 * Returns one tag for each value of a place, none if there is no value. Values are never parsed, so braces in them have no
 * meaning.
 */
function expand(template: Tag, values: TemplateValues): readonly Tag[] {
  const [, before = '', place, after = ''] = FIRST_PLACE.exec(template) ?? []
  if (place === undefined) return [template]
  const found = valuesOf(place, values, true)
  const chosen = found.length > MAX_VALUES_PER_PLACE ? ['*'] : found
  const endings = expand(after, values)
  return chosen.flatMap((value) => endings.map((ending) => before + value + ending))
}

/**
 * `body.ids` is the field `ids` of the body, `agent_id` is in the path, `master` is the name of the master node, `caller` that of
 * the user. `isList`: commas in a query value separate values, as the manager parses it.
 */
function valuesOf(place: string, { request, master, data }: TemplateValues, isList: boolean): readonly string[] {
  if (place === 'master') return [master]
  if (place === 'caller') return [request.caller.name]
  const dot = place.indexOf('.')
  const [from, name] = [place.slice(0, Math.max(0, dot)), place.slice(dot + 1)]
  if (from === '') return textsOf(ownField(request.params, name))
  if (from === 'body') return textsOf(ownField(fieldsOf(request), name))
  if (from === 'answer') return responseValues(ownField(data, name))
  return textsOf(ownField(request.query, name)).flatMap((text) => (isList ? text.split(',') : [text]))
}

/** A value that is not a name or a list of names gives the wildcard: any member of the family may have changed. */
function responseValues(value: unknown): readonly string[] {
  const values = Array.isArray(value) ? value : [value]
  return values.every((each) => typeof each === 'string' || typeof each === 'number') ? values.map(String) : ['*']
}

function textsOf(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value.map(String) : [String(value)]
}

/** Milliseconds that a response is fresh after its arrival, and that it may be served after that (RFC 5861). */
export interface FreshnessLifetimes {
  readonly ttl: number
  /** `automatic`: by TTL and fetch time. */
  readonly staleWhileRevalidate: number | 'automatic'
  readonly staleIfError: number
  /** While no node answers. Absent: not beyond the other times. */
  readonly outage?: number
  /** While Redis is unreachable. Absent: the nodes are called. */
  readonly withoutRedis?: number
}

/** Returns the lifetimes of a cache group; `name`: of an endpoint (core/request.ts), which may have its own. */
export type LifetimesOf = (group: CacheGroup, name: string) => FreshnessLifetimes

/** The settings of lifetimes, in milliseconds: by endpoint, by cache group, and of all other groups. */
interface TtlSettings {
  readonly endpoints: Readonly<Record<string, number | undefined>>
  readonly ttl: Readonly<Record<string, number>>
  readonly defaultTtl: number
}

/** Returns the freshness lifetime of an endpoint. Other replicas may have reported its names. */
export function ttlOf({ endpoints, ttl, defaultTtl }: TtlSettings, group: string, name: string): number {
  return ownEntry(endpoints, name) ?? ownEntry(ttl, group) ?? defaultTtl
}

const MIN_AUTOMATIC_MS = 3000
/** Also at the limit of a node. */
export const MAX_AUTOMATIC_MS = 30_000
/** The refresh is given the time of two fetches, because fetch times vary. */
const AUTOMATIC_FETCH_TIMES = 2
/** Clients act on a status, so this bound does not grow with TTL and fetch time. */
const MAX_STALE_WHILE_HOT_MS = 3000

/** Returns when a response may be served stale. A refusal by rights is no status that clients act on, whatever the endpoint is. */
export function staleRuleOf({ stale }: Pick<CompiledPolicy, 'stale'>, errorNumber: number): CompiledPolicy['stale'] {
  return errorNumber === 0 ? stale : 'allowed'
}

/** Returns how long after its freshness lifetime a response may be served. `fetchTime`: milliseconds of its fetch. */
export function staleTimesOf(
  { stale }: Pick<CompiledPolicy, 'stale'>,
  lifetimes: FreshnessLifetimes,
  fetchTime: number,
): StaleTimes {
  const { ttl, staleWhileRevalidate: setting, staleIfError, outage = 0, withoutRedis = 0 } = lifetimes
  const degraded = { staleInOutage: outage, staleWithoutRedis: withoutRedis }
  const duringRefresh = setting === 'automatic' ? automaticStale(ttl, fetchTime) : setting
  if (stale === 'allowed') return { staleWhileRevalidate: duringRefresh, staleIfError, ...degraded, staleWhileHot: 0 }
  if (stale === 'never') return NEVER_STALE
  return { ...NEVER_STALE, ...degraded, staleWhileHot: Math.min(duringRefresh, MAX_STALE_WHILE_HOT_MS) }
}

/** Returns how long a response may be served stale while a refresh is expected to take `fetchTime`; all in milliseconds. */
function automaticStale(ttl: number, fetchTime: number): number {
  return Math.min(Math.max(ttl, MIN_AUTOMATIC_MS, AUTOMATIC_FETCH_TIMES * fetchTime), MAX_AUTOMATIC_MS)
}
