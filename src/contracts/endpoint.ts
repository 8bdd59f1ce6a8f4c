/**
 * The types of the catalogue. One record for each endpoint describes everything particular to it.
 * Records are frozen data. All readers (routes, validation, authorisation, routing, OpenAPI, …) iterate over the
 * records; no code depends on the name of an endpoint. `checks/` rejects at start the mistakes that these types cannot
 * express. Over 200 lines: the vocabulary of records.
 */

import type { SchemaName } from './items/index.ts'
import type { Kind } from './schemas/kinds.ts'
import type { Translation } from './translations/translation.ts'
import type { InventoryKind } from './v3/inventories.ts'
import type { Releases, Value } from './v4/value.ts'

export type ReadMethod = 'GET'
export type WriteMethod = 'POST' | 'PUT' | 'DELETE'
export type Method = ReadMethod | WriteMethod

/** The contract that clients speak: `v3` is that of the interface description, `v4` that of releases 4.x. */
export type Contract = 'v3' | 'v4'

/** The names after `:` in a path: `/cluster/:node_id/config/:component` gives `node_id | component`. */
export type ParamsOf<Path extends string> = string extends Path
  ? string
  : Path extends `${infer Head}/${infer Tail}`
    ? ParamsOf<Head> | ParamsOf<Tail>
    : Path extends `:${infer Name}`
      ? Name
      : never

/** The canonical form of a value, used in the cache key and in the path on the node. */
export type Canonical = 'agentId' | 'agentIds' | 'agentIdSet' | 'nameSet' | 'lowerCase'

/** Settings that list the allowed prefixes of a value, against SSRF and path traversal. */
export type PrefixSetting = 'upgradeRepositories' | 'packageFolders'

/** A path or query parameter. Values are texts; `kind` defines which texts are valid. */
export interface Param {
  readonly kind: Kind
  /** Of the v4 contract, whose `kind` is `described`: the values as the manager describes them. */
  readonly value?: Value
  /** The releases in which the manager writes the value in lower case before it reads it. Absent: none. */
  readonly ignoresCase?: Releases
  /** The description in the API documentation. */
  readonly role: string
  /** The manager's default. It is part of the cache key and is never sent. */
  readonly default?: string | number | boolean
  /** Values that the manager accepts. The manager rejects other values with its own code, so the edge forwards them. */
  readonly allowed?: readonly string[]
  /** The error code if the parameter is missing. Absent: the parameter is optional. */
  readonly required?: 604 | 706
  /** Limits of a page size: above `max` gives 1405, and 0 gives 1406, as in the manager's framework. */
  readonly pageLimit?: { readonly max?: number }
  /** A further pattern with a separate error code (704: folders of files). Anchored, matched in linear time. */
  readonly within?: { readonly pattern: string; readonly code: 704 }
  /** The value must begin with one of the prefixes of this setting and must not contain `..` (code 608). */
  readonly startsWith?: PrefixSetting
  /** Another parameter that must be present too (604). */
  readonly requires?: string
  readonly canonical?: Canonical
  /** Only values that match take this route; the router tries other records for the rest. No nested repetitions. */
  readonly routePattern?: string
  /** Evaluated by the edge and never sent, because nodes do not know the parameter. */
  readonly edgeOnly?: true
  /** Of `select`: the manager accepts the parameter and returns all fields, or fails. */
  readonly selectsNothing?: true
  readonly note?: string
  /** Used by real clients although the interface description does not name the parameter. */
  readonly beyondSeed?: true
}

/** A field of a JSON or form body. `kind` defines the valid texts of strings and of each string of a list. */
export interface Field extends Pick<Param, 'value' | 'role' | 'default' | 'canonical' | 'note'> {
  readonly type: 'string' | 'integer' | 'boolean' | 'strings'
  readonly kind?: Kind
  readonly required?: 604
  readonly maxLength?: number
  /**
   * The edge fills a missing field with the address of the client. Otherwise the manager would register the edge's
   * address.
   */
  readonly fill?: 'clientAddress'
}

type FieldsType = 'application/json' | 'application/x-www-form-urlencoded'
type UploadType = 'application/xml' | 'application/octet-stream'

export type Body =
  | {
      readonly kind: 'fields'
      readonly types: readonly FieldsType[]
      readonly fields: Readonly<Record<string, Field>>
      /** Other fields are valid too. */
      readonly open?: true
      /**
       * The names that error 604 lists if a mandatory field is missing, as the real API lists them. Absent: the mandatory
       * fields in the order of `fields`.
       */
      readonly namedAsMandatory?: readonly string[]
    }
  | {
      readonly kind: 'upload'
      readonly types: readonly UploadType[]
      /** The error code for one of the other supported media types. */
      readonly wrongType: 607 | 804
      /**
       * If both types are accepted: the file is XML if this query parameter matches, otherwise a list (errors 703 and
       * 705).
       */
      readonly xmlWhen?: { readonly query: string; readonly matches: string }
    }

/**
 * The collections of the manager. `collections/sources.ts` defines how the rows of each are filtered and sorted, and
 * `v4-sources.ts` beside it the same for the v4 contract.
 */
export type Collection =
  | InventoryKind
  | 'agents'
  | 'groups'
  | 'groupFiles'
  | 'rules'
  | 'ruleFiles'
  | 'decoders'
  | 'decoderFiles'
  | 'catalogue'
  | 'requirements'
  | 'lists'
  | 'listFiles'
  | 'logs'
  | 'nodes'
  | 'syscheck'
  | 'rootcheck'
  | 'sca'
  | 'scaChecks'
  | 'ciscat'

/**
 * The order in which calls leave the queue of a busy node: `health`, `write`, `interactive` (a person waits), `bulk` (work for
 * later requests, and reads of clients that always have a call waiting).
 */
export type Priority = 'health' | 'write' | 'interactive' | 'bulk'

/** An operation that the edge answers itself. The pipeline requires a handler for each; the compiler checks it. */
export type EdgeOperation =
  | 'issueToken'
  | 'revokeTokens'
  | 'cacheIndex'
  | 'cacheEntries'
  | 'cacheGroups'
  | 'cacheClear'
  | 'cacheClearGroup'
  | 'cacheConfig'
  | 'cacheExplain'
  | 'describeApi'
  | 'describeV4Api'
  | 'logIn'
  | 'logOut'

/**
 * The node that can answer.
 * `through`: whether a worker can forward the request to the master. `any`: under the same path; `twin`: only as
 * `/cluster/<master>/…`; `none`: not at all, a worker would answer about itself.
 */
export type Target = NodeTarget | EdgeTarget

/** A node answers, or several nodes with one request each. */
export type NodeTarget =
  /** `passesOnTo`, of the v4 contract: where the master passes the call on to. */
  | { readonly kind: 'master'; readonly through: 'any' | 'twin' | 'none'; readonly passesOnTo?: PassesOnTo }
  | { readonly kind: 'anyNode' }
  /**
   * `throughOthers`: whether another node can answer for the named node, under the path of this record. It cannot where the
   * cluster mixes the data of all nodes.
   */
  | { readonly kind: 'node'; readonly twin: `/manager/${string}`; readonly throughOthers: boolean }
  | { readonly kind: 'agentOwner' }
  | { readonly kind: 'agentOwners'; readonly ids: 'body' | 'group' }
  | {
      readonly kind: 'everyNode'
      /**
       * The path of the same rows of one agent. A node reads at most 500 agents and stops at its limit, so large
       * clusters need it.
       */
      readonly ofAgent?: `/${string}/:agent_id/${string}`
    }

/** The owner of the agent in the path, the node in the path, or nodes that the path does not name. */
export type PassesOnTo = 'agentOwner' | 'node' | 'several'

/**
 * Of a request to several nodes, in the v4 contract: how the edge sends it without those that are lost, and what a
 * response says that lacks them.
 */
export interface WithoutLost {
  /**
   * The parameter that names agents or nodes. For a request about the group in the path: `members` is the collection of its
   * agents, and `command` the path of the equal request that names them.
   */
  readonly list: 'agents_list' | 'nodes_list' | { readonly members: string; readonly command: string }
  /** The message of a response with some failed items. */
  readonly message: string
  /** The codes of items that the manager leaves out, instead of failing them, if a request names none or `all`. */
  readonly leftOut?: readonly number[] | 'every'
}

/** The edge answers, itself or with requests under other paths. */
export type EdgeTarget =
  | { readonly kind: 'edge'; readonly operation: EdgeOperation }
  /** `:node_ids` is `*` or a list. The edge sends `ofNode` to each node and joins the responses into one collection. */
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
 * A tag names data that reads depend on and writes invalidate. `rules`, `decoders`, `lists`, `cluster` and `validation`
 * name one thing. `agent:{agent_id}` names one of many; its reads also have `agent:*`, because a write to all agents
 * invalidates only `agent:*`. `collection:agents` and `collection:nodes` name reads over many; a write to any of them
 * invalidates the collection.
 *
 * Placeholders: `{x}` is a path parameter; `{query.x}`, `{body.x}` and `{answer.x}` come from the query, the body and
 * the response. A list gives one tag for each element, a missing value none. `{master}` is the name of the master, so
 * that `/manager/…` and `/cluster/<master>/…` have the same tags; `{caller}` is the name of the user. Without a successful
 * response `{answer.x}` becomes `*`: a write with an unknown outcome may have changed any of them.
 */
export type Tag = string

/** Tags that a write invalidates only if a value of its request matches, such as the folder of a file. */
export interface ConditionalTags {
  readonly value: `query.${string}` | `body.${string}`
  /** Anchored at the beginning, matched in linear time. */
  readonly matches: string
  readonly tags: readonly Tag[]
}

/** Whether a response may be stored, in which cache group, and which data it depends on. */
export type CachePolicy = StoringPolicy | { readonly never: string }

export interface StoringPolicy {
  readonly group: CacheGroup
  readonly tags: readonly Tag[]
  /** Absent: a response may be served stale within the bounds of the settings. */
  readonly stale?: StaleLimit
  /**
   * The kind of rows, if the edge may compute pages, sorts and filters of the collection from a stored snapshot of all its
   * rows. Not for collections whose totals count something else than their rows.
   */
  readonly snapshot?: RowKind
  /**
   * The kind of rows of a collection without snapshots, of which responses are computed from a stored one that has all of them,
   * while no node answers. Default: `pages`. `none`: not even pages are, because the total counts something else than rows.
   */
  readonly storedRows?: Collection | 'none'
}

export type SnapshotCollection = Exclude<Collection, 'lists' | 'logs' | 'scaChecks'>

/** A kind of rows. `pages`: rows of which nothing but pages is computed. */
export type RowKind = Collection | 'pages'

/**
 * For responses that clients act on at once: neither is served stale while nodes fail or after a soft purge. `never`: not
 * during a refresh either (`must-revalidate` of RFC 9111). `whileHot`: during a refresh only while it is requested often,
 * for a few seconds at most, and not after a fetch that failed.
 */
export type StaleLimit = 'never' | 'whileHot'

type Secret = 'none' | 'always' | 'possible'
export type Permission = `${string}:${string}`

/**
 * The shape of `data` in the response; `document`: the response has no envelope; `items`: the v4 contract. `raw`: with the query parameter `when`
 * the response is the file itself; without `when` it always is.
 */
export interface ResponseShape {
  readonly data: 'collection' | 'object' | 'array' | 'message' | 'affected' | 'text' | 'document' | 'items'
  /** The schema of `data`, or of each element of a collection or an array (`items/schemas.json`). */
  readonly schema: SchemaName
  /** Why a success may have status 202 instead of 200. */
  readonly accepted?: string
  readonly raw?: { readonly when?: string; readonly type: 'text/xml' | 'application/xml' | 'text/plain' }
}

interface Common<Path extends string> {
  readonly path: Path
  readonly summary: string
  readonly params: Readonly<Record<ParamsOf<Path>, Param>>
  readonly query: Readonly<Record<string, Param>>
  /** At least one of these query parameters is required (604). */
  readonly oneOf?: readonly string[]
  readonly permission: Permission | 'signedIn'
  /** Any value but `none` also requires `secrets:read`, and the response is never stored. */
  readonly secret: Secret
  /**
   * Without this query parameter, which names fields, the response has all fields, secrets included, and is never stored.
   * Requires `secrets:read` in any case.
   */
  readonly allFieldsWithout?: string
  readonly target: Target
  readonly response: ResponseShape
  readonly beyondSeed?: true
  /** The response lists the nodes of the cluster, all of them if the request has no parameters but these. */
  readonly listsNodes?: readonly string[]
  /** Served only if `cluster.experimental` is on; otherwise 603. */
  readonly experimental?: true
  /** What the response is with `Prefer: return=minimal` (RFC 7240); absent: the preference has no effect. */
  readonly minimal?: string
  /** Uses `cluster.limits.slowTimeout` (upgrades, validation). */
  readonly slow?: true
  /** Absent: reads are `interactive`, writes `write`. */
  readonly priority?: Priority
}

/** What only a record of the v3 contract states. */
interface OfV3 {
  readonly contract: 'v3'
  /** Whether unknown query names give 604. Otherwise they are ignored and not forwarded, as in the real API. */
  readonly strictQuery: boolean
  /** How nodes with the v4 layout answer it. Present if its target is one of nodes (`record.ts`). */
  readonly translation?: Translation
}

/** What only a record of the v4 contract states. */
interface OfV4 {
  readonly contract: 'v4'
  /** The releases that serve the path. */
  readonly releases?: Releases
  /** The operation that later releases have in its place. */
  readonly replacedBy?: string
  readonly withoutLost?: WithoutLost
  /** The flags that every operation takes, but this one does not. */
  readonly withoutFlags?: readonly string[]
  /** What the manager checks, as `action on resource`. All of them are needed. */
  readonly rights?: readonly string[]
  /** A node answers equal calls from a cache in front of its check of tokens and rights, for 0.75 s. */
  readonly answeredByNodeCache?: true
}

interface Read<Path extends string> extends Common<Path> {
  readonly method: ReadMethod
  readonly cache: CachePolicy
}

interface Write<Path extends string> extends Common<Path> {
  readonly method: WriteMethod
  readonly body?: Body
  /** The tags that this write invalidates. `[]` requires a reason in `invalidatesNothingBecause`. */
  readonly invalidates: readonly (Tag | ConditionalTags)[]
  readonly invalidatesNothingBecause?: string
  /** The name of a lock: writes with the same name run one at a time over all replicas. Placeholders as in tags. */
  readonly writeLock?: Tag
}

export interface V3Read<Path extends string = string> extends OfV3, Read<Path> {}
export interface V3Write<Path extends string = string> extends OfV3, Write<Path> {}
export interface V4Read<Path extends string = string> extends OfV4, Read<Path> {}
export interface V4Write<Path extends string = string> extends OfV4, Write<Path> {
  /**
   * The tokens of the manager's users that this write ends: all, those of the caller, or those of users (`username`) or roles
   * (`id` or `roles`) that rows of the response name. `newUsers`: these users had no tokens; the edge
   * forgets that their logins were refused.
   */
  readonly endsTokens?: 'all' | 'caller' | 'users' | 'newUsers' | 'roles' | 'rolesOfRows'
}

export type V3Endpoint = V3Read | V3Write
export type V4Endpoint = V4Read | V4Write
export type ReadEndpoint = V3Read | V4Read
export type WriteEndpoint = V3Write | V4Write
export type Endpoint = V3Endpoint | V4Endpoint
