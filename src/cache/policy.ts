import type { CacheGroup, CachePolicy, Endpoint, Param, Tag } from '../catalogue/endpoint.ts'
import { namesSecret } from '../catalogue/secret.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { StoredResponseInfo } from '../core/response.ts'
import type { FetchPorts } from './fetch.ts'
import { canonicalRequest, hashKey, type KeySettings, serializeKey, urlOf } from './key.ts'
import { compileReadTags, type ResolveTags } from './tags.ts'

/** What the cache makes of a record, worked out once for each: is it kept, what stands in its key, under which tags. */

export interface CompiledPolicy {
  readonly group: CacheGroup
  readonly scope: 'everyone' | 'rights'
  /** Names in the one order that keys know. */
  readonly params: readonly (readonly [string, Param])[]
  readonly query: readonly (readonly [string, Param])[]
  readonly tagsOf: ResolveTags
  /** With this parameter the answer is a file, which passes through. */
  readonly rawWhen?: string
  /** Put together of what several nodes answer. */
  readonly isJoined: boolean
  /** Nodes other than the master answer it from what they copied of the master. */
  readonly isReplicated: boolean
}

const plans = new WeakMap<Endpoint, CompiledPolicy | string>()

/** The plan of a record, or in words why its answers are never kept. */
export function compilePolicy(record: Endpoint): CompiledPolicy | string {
  const known = plans.get(record)
  if (known !== undefined) return known
  const plan = makePlan(record)
  plans.set(record, plan)
  return plan
}

function makePlan(record: Endpoint): CompiledPolicy | string {
  if (!('cache' in record)) return 'it is a write'
  const keep: CachePolicy = record.cache
  if ('never' in keep) return keep.never
  // Held at start too (catalogue/checks/staleness.ts); a secret must not depend on one check.
  if (record.secret !== 'none') return 'it may hold a secret'
  if (record.target.kind === 'edge') return 'the edge answers it itself'
  const raw: Endpoint['response']['raw'] = record.response.raw
  const params: Readonly<Record<string, Param>> = record.params
  return {
    group: keep.group,
    scope: keep.scope,
    params: Object.entries(params).sort(byName),
    query: Object.entries(record.query).sort(byName),
    tagsOf: compileReadTags(keep),
    ...(raw !== undefined && { rawWhen: raw.when }),
    isJoined: record.target.kind === 'everyNode' || record.target.kind === 'severalNodes',
    isReplicated: record.target.kind === 'anyNode',
  }
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

/** From an Ask to what the store is asked: key, tags, and the line that `/cache` shows. */

export interface CacheTarget {
  readonly policy: CompiledPolicy
  readonly key: string
  readonly tags: readonly Tag[]
  readonly info: StoredResponseInfo
}

/** In words, why the answer is never kept. */
export type Uncacheable = string
export type ResolveTarget = (ask: EdgeRequest) => CacheTarget | Uncacheable

interface Known {
  readonly prepared: CacheTarget
  readonly endpoint: EdgeRequest['endpoint']
  readonly params: EdgeRequest['params']
  readonly node: EdgeRequest['node']
  readonly master: string
  readonly nodes: string
}

interface NamedNode {
  readonly name: string
}

export interface TargetOptions {
  readonly key: KeySettings
  /** Name of the master. */
  readonly master: () => string
  /** All nodes, master first; the same array as long as they are the same. */
  readonly nodes: () => readonly NamedNode[]
  readonly lifetimesOf: FetchPorts['lifetimesOf']
}

export function createTargetResolver({ key, master, nodes, lifetimesOf: durationsOf }: TargetOptions): ResolveTarget {
  // Requests of one URL share the very objects of its values, and a hit must not pay for an HMAC again.
  const known = new WeakMap<EdgeRequest['query'], Known>()
  const namesOf = nodeNames()
  return (ask) => {
    const { endpoint, params, query, node } = ask
    const cluster = { master: master(), nodes: namesOf(nodes()) }
    const before = known.get(query)
    if (before?.endpoint === endpoint && before.params === params && before.node === node && same(before, cluster)) {
      return before.prepared
    }
    const plan = compilePolicy(endpoint)
    if (typeof plan === 'string') return plan
    if (plan.rawWhen !== undefined && Object.hasOwn(query, plan.rawWhen)) return 'a file passes through'
    if (namesSecret(endpoint, query)) return 'it names a field that holds a secret'
    if (durationsOf(plan.group, endpoint.path).ttl <= 0) return 'its duration is set to nothing'
    const prepared = prepare(ask, plan, key, cluster)
    if (plan.scope === 'everyone') known.set(query, { prepared, endpoint, params, node, ...cluster })
    return prepared
  }
}

/** The names of all nodes as one text (no name holds a space), worked out once for each list. */
function nodeNames(): (nodes: readonly NamedNode[]) => string {
  const texts = new WeakMap<readonly NamedNode[], string>()
  return (nodes) => {
    const known = texts.get(nodes)
    if (known !== undefined) return known
    const text = nodes.map(({ name }) => name).join(' ')
    texts.set(nodes, text)
    return text
  }
}

interface Names {
  readonly master: string
  readonly nodes: string
}

function same(before: Names, now: Names): boolean {
  return before.master === now.master && before.nodes === now.nodes
}

function prepare(
  ask: EdgeRequest,
  plan: CompiledPolicy,
  { secret, policy }: KeySettings,
  { master, nodes }: Names,
): CacheTarget {
  const request = canonicalRequest(ask, plan, { policy, nodes })
  const tags = plan.tagsOf(ask, master)
  const { path } = ask.endpoint
  const listed = { url: urlOf(request), group: plan.group, endpoint: path, scope: request.scope, tags }
  return { policy: plan, key: hashKey(serializeKey(request), secret), tags, info: listed }
}
