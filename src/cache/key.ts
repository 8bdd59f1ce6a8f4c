/**
 * The cache key of a request: the operation, its parameters in canonical form and, if the response depends on
 * permissions, a digest of them. A key never contains a token or the raw URL. Each field is prefixed with its length,
 * so that no value can imitate a delimiter, and the whole passes through an HMAC, so that clients cannot choose a key.
 */

import { createHash, createHmac } from 'node:crypto'
import type { Param, Tag } from '../contracts/endpoint.ts'
import { asksForSecret } from '../core/access.ts'
import { type Caller, type EdgeRead, onlyNodeOf } from '../core/request.ts'
import { ownEntry } from '../core/values.ts'
import type { FreshnessLifetimes, LifetimesOf } from './lifetimes.ts'
import { type CompiledPolicy, compilePolicy } from './policy.ts'
import type { StoredResponseInfo } from './stores/contract.ts'

/** Where the response to a request is looked up and stored. */
export interface CacheTarget {
  readonly policy: CompiledPolicy
  readonly key: string
  readonly tags: readonly Tag[]
  readonly info: StoredResponseInfo
  /** Those of the endpoint when the request came in. */
  readonly lifetimes: FreshnessLifetimes
  /** Whether the same request still leads to this target: settings, the roles of nodes and their names are the same. */
  isCurrent(): boolean
}

/** Returns the target of a request, or as text why its response is never stored. */
export type ResolveTarget = (request: EdgeRead) => CacheTarget | string

export interface KeySettings {
  readonly secret: Buffer | string
  /** A digest of the roles: if roles change, requests get other keys. */
  readonly policy: string
  /**
   * Whether responses of nodes depend on the user: a node of the v4 layout leaves out of lists what the user may not
   * read. Then callers share no responses. Absent: `false`.
   */
  readonly perUser?: boolean
}

export interface TargetOptions {
  /** Returns another object after each reload of the configuration: targets are then resolved again. */
  readonly key: () => KeySettings
  /** Returns all nodes, master first. Another array does not mean that they have changed. */
  readonly nodes: () => readonly { readonly name: string }[]
  readonly lifetimesOf: LifetimesOf
}

/** What a target depends on besides its request. */
interface KeyBasis {
  readonly settings: KeySettings
  readonly master: string
  /** Names, joined by spaces, which no name contains. */
  readonly nodes: string
}

export function createTargetResolver(options: TargetOptions): ResolveTarget {
  const basisNow = followBasis(options)
  return (request) => {
    const { endpoint, query } = request
    const policy = compilePolicy(endpoint)
    if (typeof policy === 'string') return policy
    if (policy.rawWhen !== undefined && Object.hasOwn(query, policy.rawWhen)) return 'a file is streamed, not stored'
    if (asksForSecret(endpoint, query)) return 'it asks for a field that holds a secret'
    const lifetimes = options.lifetimesOf(policy.group, policy.name)
    if (lifetimes.ttl <= 0) return 'its TTL is set to 0'
    return resolve(request, policy, lifetimes, basisNow)
  }
}

/** Returns a function that returns the present basis: the same object while settings and names of nodes are the same. */
function followBasis({ key, nodes }: Pick<TargetOptions, 'key' | 'nodes'>): () => KeyBasis {
  let basis: KeyBasis | undefined
  let seen: ReturnType<TargetOptions['nodes']> | undefined
  return () => {
    const settings = key()
    const all = nodes()
    if (basis?.settings === settings && seen === all) return basis
    seen = all
    const names = all.map(({ name }) => name).join(' ')
    if (basis?.settings !== settings || basis.nodes !== names)
      basis = { settings, master: all[0]?.name ?? '', nodes: names }
    return basis
  }
}

function resolve(
  request: EdgeRead,
  policy: CompiledPolicy,
  lifetimes: FreshnessLifetimes,
  basisNow: () => KeyBasis,
): CacheTarget {
  const basis = basisNow()
  const { settings, master } = basis
  const canonical = canonicalRequest(request, policy, basis)
  const tags = policy.tagsOf(request, master)
  const { scope } = canonical
  const info = { url: urlOf(policy.name, canonical), group: policy.group, endpoint: policy.name, scope, tags }
  // As UTF-16: in UTF-8, all lone surrogates would be the same bytes.
  const key = createHmac('sha256', settings.secret).update(serialize(canonical), 'utf16le').digest('base64url')
  return { policy, key, tags, info, lifetimes, isCurrent: () => basisNow() === basis }
}

type NamedValues = readonly (readonly [string, string])[]

type CanonicalRequest = ReturnType<typeof canonicalRequest>

/** Returns a request in the one form that all its spellings share: defaults filled in, names sorted. */
function canonicalRequest(request: EdgeRead, policy: CompiledPolicy, { settings, nodes }: KeyBasis) {
  const { endpoint, params, query, caller, extent } = request
  const node = onlyNodeOf(request)
  const isSnapshot = extent === 'allRows'
  return {
    // The contracts share paths, and their responses differ.
    contract: endpoint.contract,
    path: endpoint.path,
    params: canonicalValues(policy.params, params),
    query: isSnapshot ? [] : canonicalValues(policy.query, query),
    scope: scopeOf(caller, settings),
    /** The node whose part of a joined response this is. */
    node,
    // A joined response of other nodes is another response.
    nodes: policy.isJoined && node === undefined ? nodes : '',
    isSnapshot,
  }
}

function canonicalValues(params: CompiledPolicy['query'], values: EdgeRead['query']): NamedValues {
  const found: (readonly [string, string])[] = []
  for (const [name, param] of params) {
    // A parameter that only some releases have gets no default: the URL of the entry must be one that the others accept.
    const preset = param.value?.releases === undefined ? param.default : undefined
    const value = ownEntry(values, name) ?? preset
    if (value !== undefined) found.push([name, canonicalValue(String(value), param)])
  }
  return found
}

/** Numbers without leading zeros, and an ascending sort without `+`: the manager reads both spellings as the same. */
function canonicalValue(value: string, param: Param): string {
  if (param.kind === 'numbers' && typeof param.default === 'number') return value.replace(/^0+(?=[0-9])/, '')
  if (param.kind === 'sort' && value.startsWith('+')) return value.slice(1)
  return value
}

export const EVERYONE = 'everyone'

/** Returns the scope of the stored responses that the caller may be served: `everyone`, or a digest of what the user may see. */
export function scopeOf({ name, permissions, rights }: Caller, { perUser, policy }: KeySettings): string {
  if (!perUser) return EVERYONE
  const owner = rights === undefined ? ['user', name] : ['rights', rights]
  // In whatever order the roles list the permissions.
  const text = lengthPrefixed([lengthPrefixed([policy, ...owner]), ...[...new Set(permissions)].sort()])
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22)
}

/** To be increased if responses to the same request change their form: those that older releases stored are not found then. */
const RESPONSE_FORMAT = '3'

/** Returns a text that two requests share only if they are equal. */
function serialize({ contract, path, params, query, scope, node = '', nodes, isSnapshot }: CanonicalRequest): string {
  const values = [lengthPrefixed(params.flat()), lengthPrefixed(query.flat())]
  const kind = [...(isSnapshot ? ['snapshot'] : []), ...(contract === 'v4' ? ['v4'] : [])]
  return lengthPrefixed([RESPONSE_FORMAT, path, scope, ...values, node, nodes, ...kind])
}

function lengthPrefixed(fields: readonly string[]): string {
  let text = ''
  for (const field of fields) text += `${field.length}:${field}`
  return text
}

/** What `/cache` shows after the path of a snapshot. No node has such a name. */
export const SNAPSHOT_MARK = '#*'

/**
 * Returns path and query as `/cache` shows them; after `#` the node whose part of a joined response it is. `name`: of the
 * endpoint.
 */
function urlOf(name: string, { params, query, node, isSnapshot }: CanonicalRequest): string {
  const values = new Map(params)
  const filled = name.replaceAll(/:([^/]+)/g, (_, param: string) => encode(values.get(param) ?? ''))
  const text = query.map(([param, value]) => `${encode(param)}=${encode(value)}`).join('&')
  if (isSnapshot) return filled + SNAPSHOT_MARK
  const url = text === '' ? filled : `${filled}?${text}`
  return node === undefined ? url : `${url}#${encode(node)}`
}

/** Percent-encodes a value; a lone surrogate, which no URL can contain, becomes a replacement character. */
function encode(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString())
}
