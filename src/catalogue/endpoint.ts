/**
 * The vocabulary of the catalogue: one record for each endpoint says everything that is particular to it.
 * Records are frozen data; every reader (routes, validation, authorisation, routing, OpenAPI, …) walks
 * them and none asks for a name. What these types cannot refuse, `check.ts` refuses at start.
 */
import type { Kind } from './schemas/kinds.ts'

export type ReadMethod = 'GET'
export type WriteMethod = 'POST' | 'PUT' | 'DELETE'
export type Method = ReadMethod | WriteMethod

/** The names behind `:` in a path: `/cluster/:node_id/config/:component` gives `node_id | component`. */
export type ParamsOf<Path extends string> = string extends Path
  ? string
  : Path extends `${infer Head}/${infer Tail}`
    ? ParamsOf<Head> | ParamsOf<Tail>
    : Path extends `:${infer Name}`
      ? Name
      : never

/** How a value is written in its one canonical form (cache key, upstream path). */
export type Canonical = 'agentId' | 'agentIds' | 'agentIdSet' | 'nameSet' | 'lowerCase'

/** Settings that hold the prefixes which a value may begin with (SSRF and traversal). */
export type PrefixSetting = 'upgradeRepositories' | 'packageFolders'

/** One path or query parameter. Values are text on the wire; `kind` says which text is legal. */
export interface Param {
  readonly kind: Kind
  /** The seed's words for it. */
  readonly role: string
  /** What the manager takes when it is absent; fills the cache key, is never sent. */
  readonly default?: string | number | boolean
  /** The values that the manager knows. It answers others itself (its own code), so they are not refused here. */
  readonly allowed?: readonly string[]
  /** The code that answers its absence (604, 706). Absent: optional. */
  readonly required?: 604 | 706
  /** Its greatest number: above → 1405, and 0 → 1406, as the framework answers, without asking it. */
  readonly pageLimit?: { readonly max?: number }
  /** A further pattern, linear and anchored, with a code of its own (704: folders of files). */
  readonly within?: { readonly pattern: string; readonly code: 704 }
  /** The value must begin with one of the prefixes of this setting and hold no `..` (code 608). */
  readonly startsWith?: PrefixSetting
  /** Another parameter that must be there too (604). */
  readonly requires?: string
  readonly canonical?: Canonical
  /** Of a path: only such values take this route, others another record's. Linear, and without a repetition in a repetition. */
  readonly routePattern?: string
  /** The edge itself answers by it: no node knows it, so it is never sent. */
  readonly edgeOnly?: true
  readonly note?: string
  /** Real clients use it though the seed does not name it. */
  readonly beyondSeed?: true
}

/** One field of a JSON or form body. `kind` gives the legal text of strings (and of each string of a list). */
export interface Field {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings'
  readonly kind?: Kind
  readonly role: string
  readonly required?: 604
  readonly maxLength?: number
  readonly maxItems?: number
  readonly default?: string | number | boolean
  readonly canonical?: Canonical
  /** Absent in the request: the edge writes the address of the client into it (contract, semantics.md section 8). */
  readonly fill?: 'clientAddress'
  readonly note?: string
}

export type FieldsType = 'application/json' | 'application/x-www-form-urlencoded'
export type UploadType = 'application/xml' | 'application/octet-stream'

export type Body =
  | { readonly kind: 'fields'; readonly types: readonly FieldsType[]; readonly fields: Readonly<Record<string, Field>> }
  | {
      readonly kind: 'upload'
      readonly types: readonly UploadType[]
      /** What another of the four accepted types answers. */
      readonly wrongType: 607 | 804
      /** Where both types are taken: a file is XML when this query parameter matches, a list else (703, 705). */
      readonly xmlWhen?: { readonly query: string; readonly matches: string }
    }

export type MergeRule = 'collection' | 'verdict' | 'message' | 'affected'
export type WhenPartial = 'label' | 'fail'

/** What the rows of a joined collection are; how each sorts stands in the table of `collection/sources.ts`. */
export type RowsOf =
  | 'logs'
  | 'ciscat'
  | 'hardware'
  | 'os'
  | 'netaddr'
  | 'netproto'
  | 'netiface'
  | 'packages'
  | 'ports'
  | 'processes'
  | 'hotfixes'
  /** Whole answers of nodes, each with its `node_name`. */
  | 'nodeAnswers'

/**
 * Who is served first by a node that has no room for all: `health` before writes, writes before what a person waits
 * for, and `bulk` last.
 */
export type Priority = 'health' | 'write' | 'interactive' | 'bulk'

/** An operation that the edge answers itself. The table of them is `pipeline/edge/`; the compiler holds it complete. */
export type EdgeOperation =
  | 'issueToken'
  | 'revokeTokens'
  | 'cacheIndex'
  | 'cacheClear'
  | 'cacheClearGroup'
  | 'cacheConfig'
  | 'cacheExplain'

/**
 * Where an answer lives.
 * `through` says whether a worker's API may stand in for the master's: `any` – a worker hands it to the
 * master under the same path; `twin` – only as `/cluster/<master>/…`; `none` – a worker would speak of itself.
 */
export type Target =
  | { readonly kind: 'edge'; readonly operation: EdgeOperation }
  | { readonly kind: 'master'; readonly through: 'any' | 'twin' | 'none' }
  | { readonly kind: 'anyNode' }
  | { readonly kind: 'node'; readonly twin: `/manager/${string}` }
  | { readonly kind: 'agentOwner' }
  | { readonly kind: 'agentOwners'; readonly merge: MergeRule; readonly ids: 'body' | 'group' }
  | {
      readonly kind: 'everyNode'
      readonly merge: MergeRule
      readonly whenPartial: WhenPartial
      /** The same rows of one agent: a node walks 500 agents and stops at its limit (contract, semantics.md section 6). */
      readonly ofAgent?: `/${string}/:agent_id/${string}`
    }
  /** `:node_ids` is `*` or a list; each node is asked as this record asks one, and the answers are one collection. */
  | { readonly kind: 'severalNodes'; readonly ofNode: `/cluster/:node_id/${string}` }

export type CacheGroup =
  | 'agents'
  | 'manager'
  | 'cluster'
  | 'rules'
  | 'decoders'
  | 'lists'
  | 'syscheck'
  | 'rootcheck'
  | 'sca'
  | 'summary'
  | 'syscollector'
  | 'ciscat'
  | 'validation'

/**
 * A tag names data. `rules`, `decoders`, `lists`, `cluster`, `validation`: one thing. `agent:{agent_id}`: one of many,
 * and `agent:*` beside it on each of their reads, since a write to all of them touches `agent:*` alone.
 * `collection:agents`, `collection:nodes`: what is read over many of them at once, touched by a write to any.
 *
 * `{x}` is filled from the path; `{query.x}`, `{body.x}`, `{answer.x}` from there (lists give one tag each, a
 * missing value none); `{master}` is the name of the master, so that `/manager/…` and `/cluster/<master>/…` agree.
 * Where no successful answer comes, `{answer.x}` stands for `*`: a write whose outcome is not known may have
 * touched any of them.
 */
export type Tag = string

/** Tags that a write touches only when a value of its request matches: the folder of a file, a flag. */
export interface ConditionalTags {
  readonly value: `query.${string}` | `body.${string}`
  /** Linear and anchored at its beginning. */
  readonly matches: string
  readonly tags: readonly Tag[]
}

/** May the answer be kept, under which group of `/cache`, and which data does it show? */
export type CachePolicy =
  | { readonly group: CacheGroup; readonly tags: readonly Tag[]; readonly scope: 'everyone' | 'rights' }
  | { readonly never: string }

export type Secret = 'none' | 'always' | 'possible'
export type Permission = `${string}:${string}`

/** What `data` holds. `raw`: with the named query parameter the answer is the file itself, not JSON. */
export interface ResponseShape {
  readonly data: 'collection' | 'object' | 'array' | 'message' | 'affected' | 'text'
  readonly description: string
  /** Of collections that are joined, and of what is read of one agent in their stead. */
  readonly rows?: RowsOf
  readonly raw?: { readonly when: string; readonly type: 'text/xml' }
}

interface Common<Path extends string> {
  readonly path: Path
  readonly section: string
  readonly summary: string
  readonly params: Readonly<Record<ParamsOf<Path>, Param>>
  readonly query: Readonly<Record<string, Param>>
  /** Unknown query names are refused (604); where the real API ignores them, they are ignored and not forwarded. */
  readonly strictQuery: boolean
  /** At least one of these query parameters must be there (604). */
  readonly oneOf?: readonly string[]
  readonly permission: Permission | 'signedIn'
  /** Anything but `none` needs `secrets:read` besides, and is never kept. */
  readonly secret: Secret
  readonly target: Target
  readonly response: ResponseShape
  readonly beyondSeed?: true
  /** An experimental endpoint: served only where `cluster.experimental` is on (603 else). */
  readonly experimental?: true
  /** Longer than the usual deadline by its nature (upgrades, validation). */
  readonly slow?: true
  /** Absent: reads are `interactive`, writes `write`. */
  readonly priority?: Priority
}

export interface ReadEndpoint<Path extends string = string> extends Common<Path> {
  readonly method: ReadMethod
  readonly cache: CachePolicy
}

export interface WriteEndpoint<Path extends string = string> extends Common<Path> {
  readonly method: WriteMethod
  readonly body?: Body
  /** What this write makes stale; `[]` needs a reason in `staleNothing`. */
  readonly invalidates: readonly (Tag | ConditionalTags)[]
  readonly invalidatesNothingBecause?: string
  /** Over all replicas one write of that name at a time; filled as tags are (`file:{node_id}:{query.path}`). */
  readonly writeLock?: Tag
}

export type Endpoint = ReadEndpoint | WriteEndpoint
