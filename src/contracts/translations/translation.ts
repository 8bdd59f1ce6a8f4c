/**
 * The types of the table for the v4 layout of the manager's API (releases 4.x). Each record of the catalogue that a
 * node answers has a translation: which calls a node of the v4 layout gets for a v3 request, and what their
 * responses are in the v3 layout. Translations are frozen data; `src/layouts/v4` reads them. What
 * needs more than a table has a word here (`plan`, `body`, a `kind` of response, a `ValueRule`), and each word has one
 * implementation there. Over 200 lines: the vocabulary of translations.
 */

import type { Release, Releases } from '../v4/value.ts'

export interface Translation {
  /** Why the rules are as they are, for the reader. */
  readonly note?: string
  readonly call: CallTemplate
  /** How several calls give the response. Absent: one call. */
  readonly plan?: Plan
  /** The edge answers the removal of agents when the node no longer lists them. */
  readonly confirmsRemoval?: true
  /** Of the plan `download`: the path of a file. `:file` is the value of the parameter that names it. */
  readonly file?: string
  readonly response: ResponseRule
  /** What errors of this endpoint mean in the v3 layout, before the general table. The key is the v4 code. */
  readonly errors?: Readonly<Record<number, ErrorRule>>
  /**
   * What it means that the node refuses the value of a parameter, by the v3 name of the parameter (of the path, the
   * query or the body). Absent: the error of the kind of the parameter, as the edge itself answers it.
   */
  readonly refused?: Readonly<Record<string, ErrorRule>>
  /** The releases whose nodes answer it; `none`: no release has the call. Absent: all of them. */
  readonly releases?: Releases | 'none'
}

/**
 * Templates have placeholders. `:name` is a parameter of the path of the record, `{query.name}` one of its query, and
 * `{query.name|word}` has a default. `{node}` at the beginning of a path is `/manager` if the asked node is the one that the
 * request is about, and `/cluster/<its name>` otherwise; in a value it is the name.
 */
export interface CallTemplate {
  /** Absent: the method of the record. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** The response of the node is the text of a file. */
  readonly isFile?: true
  /** A list of the request that is sent in a parameter, in several calls if it does not fit into one request line. */
  readonly list?: { readonly as: string; readonly from: 'body.ids' | 'query.ids' }
  /** The edge asks for all rows, sorts and pages them: what the node counts as their total is something else. */
  readonly allRows?: true
  /** The call takes no `wait_for_complete`: it has no separate time limit. */
  readonly endless?: true
  /** Instead, if all of these parameters of path and query have these values; `null`: is absent. */
  readonly when?: { readonly values: Readonly<Record<string, string | null>> } & Pick<
    CallTemplate,
    'path' | 'isFile' | 'fixed'
  >
  /** The template that replaces this one on nodes since a release. */
  readonly since?: { readonly release: Release; readonly call: CallTemplate }
  /** Parameters of each call, as templates of their values. A parameter of the request with this name replaces it. */
  readonly fixed?: Readonly<Record<string, string>>
  /**
   * The parameters of the query of the record that are not sent with their own name and value. The key is the v3
   * name.
   */
  readonly params?: Readonly<Record<string, ParamRule>>
  /** The order of rows, where the node would not keep it from page to page. */
  readonly order?: Order
  /** Absent: a body is sent as it is. */
  readonly body?: BodyRule
  /** The greatest body in bytes. A longer one is refused with 701, and nothing is sent. */
  readonly maxBodyBytes?: number
  /** What replaces `path` and `fixed` if the asked node is not the one that the request is about. */
  readonly elsewhere?: Pick<CallTemplate, 'path' | 'fixed'>
  /** Values of parameters of the path without which nothing is sent. The error is the v3 one. */
  readonly only?: { readonly param: string; readonly is: string; readonly otherwise: number }
}

/** v4 names of fields. */
export interface Order {
  /** The sort of a request without one. */
  readonly byDefault: string
  /** Fields that no two rows have in common. They follow those of any sort. */
  readonly ties: readonly string[]
}

export interface ParamRule {
  /** The name in the v4 layout. Absent: the v3 name. */
  readonly as?: string
  /** Values that have another word there. The key is the v3 value in lower case and without spaces. */
  readonly words?: Readonly<Record<string, string>>
  /** Values (in lower case) with which the parameter is not sent. */
  readonly omitted?: readonly string[]
  /** `flag`: present is `true`. `boolean`: `true`, `yes` and `1` are `true`. `date`: YYYYMMDD as YYYY-MM-DD. `daemon`: `ossec-x` as `wazuh-x`. `sign`: only the sign of a sort counts. */
  readonly format?: 'flag' | 'boolean' | 'date' | 'daemon' | 'sign'
  /**
   * The node lacks the parameter, or understands it in another way: the edge asks for all rows and evaluates it. `list`:
   * only a value with commas.
   */
  readonly byEdge?: true | 'list'
  /** As `byEdge`, for values that match: the node would compare them with its own names. Matched in linear time. */
  readonly byEdgeIf?: string
  /** Has no effect, and is not sent. */
  readonly ignored?: true
  /** Nodes of earlier releases lack the parameter: for them it is `byEdge`. */
  readonly since?: Release
  /** Nodes of later releases lack the parameter: in front of them the request is not possible. */
  readonly until?: Release
  /** The error of the v3 layout if the parameter is absent; the node does not demand it, or with another error. */
  readonly required?: number
  /** The error of the v3 layout whenever the parameter is present. */
  readonly fails?: number
}

/**
 * How a body is converted. `none`: there is no body. `json`: an object of templates. Each other word is a function in
 * `layouts/v4/request-body.ts`: `registration` (`force` in seconds becomes an object), `command` (of an active response).
 */
export type BodyRule = 'none' | 'registration' | 'command' | { readonly json: Readonly<Record<string, string>> }

/** How several calls give one response; each word is a function in `layouts/v4/plans/`. */
export type Plan =
  /** With the parameter that asks for a file (`response.raw` of the record), the file itself; otherwise one call. */
  | 'download'
  /** Without a database of the agent, asks whether the agent exists. */
  | 'rowsOfAgent'
  /** With `path`, the keys and values of one list; otherwise one call. */
  | 'lists'
  /** Rows of all agents: the node is asked for lists of agents, and the edge joins, sorts and cuts the rows. */
  | 'allAgents'
  /** Repeats the call once if the node does not know a new agent completely yet. */
  | 'removeAgent'
  /** Reads the members of the groups before. */
  | 'removeGroups'
  /** Adds agent 000, if the caller may read it. */
  | 'summary'
  /** The same for the counts of agents by status. */
  | 'agentCounts'
  /** Asks until the upgrade has ended. */
  | 'upgradeResult'
  /** The configuration file, a section of it, or a field of a section. */
  | 'configuration'
  /** Facts of a node with those of the cluster. */
  | 'info'
  /** Pages of at most 500 entries. */
  | 'logs'
  /** The path of the file decides about the call. */
  | 'readFile'
  | 'writeFile'
  | 'deleteFile'
  /** Every node must have carried it out. */
  | 'restart'
  | 'verdict'

/** The shape of the v3 `data`, and where it comes from. */
export type ResponseRule =
  /** `affected_items` and their total as `items` and `totalItems`. `value`: items are the values of this field. */
  | {
      readonly kind: 'collection'
      readonly rows?: RowRule
      readonly value?: string
      /** The total is the number of rows on the page. */
      readonly countsPage?: true
    }
  /**
   * The only item as an object, or one of its fields. `equal`: fields that must have exactly this value (a template); the
   * node ignores case. `missing`: what no item means; absent: an empty object.
   */
  | {
      readonly kind: 'one'
      readonly rows?: RowRule
      readonly field?: string
      readonly equal?: Readonly<Record<string, string>>
      readonly missing?: ErrorRule
    }
  /** `data` as it is. `only`: the fields that the v3 layout has, in this order. `always`: fields that a release lacks. */
  | {
      readonly kind: 'object'
      readonly rows?: RowRule
      readonly only?: readonly string[]
      readonly always?: Readonly<Record<string, string>>
    }
  /** `affected_items` as an array. */
  | { readonly kind: 'array'; readonly rows?: RowRule }
  /** A list of objects with one key each, as one object. */
  | { readonly kind: 'keyed'; readonly rows?: RowRule }
  /** A text that the edge makes, as a template: the first variant that applies, or `text`. */
  | { readonly kind: 'text'; readonly text: string; readonly variants?: readonly TextVariant[] }
  /** `{msg, affected_agents, failed_ids}`. */
  | AffectedRule
  /** A special shape: a function in `layouts/v4/shapes.ts`. */
  | { readonly kind: 'own'; readonly shape: OwnShape; readonly rows?: RowRule }

export interface TextVariant {
  /** Applies if the request has this query parameter. */
  readonly query?: string
  /** Applies if the request is about this agent. */
  readonly agent?: string
  /** Applies if the message of the node contains this text. */
  readonly message?: string
  /** Applies if the node answers with this error, which `errors` has as `success`. */
  readonly error?: number
  readonly text: string
}

/** Affected and failed items. `all`, `some`: the message if no item failed, and otherwise; templates. */
export interface AffectedRule {
  readonly kind: 'affected'
  readonly all: string
  readonly some: string
  /** The error, or the message, if there is neither an affected nor a failed item. */
  readonly none?: number | string
  /** The response has `older_than` and the numbers of affected and failed items. */
  readonly totals?: true
  /** `ids`: failed items are listed by their ids only. */
  readonly failed?: 'ids'
}

export type OwnShape =
  | 'groupFile'
  | 'welcome'
  | 'version'
  /** The configuration that a component uses. */
  | 'activeConfiguration'
  /** The health of all nodes. */
  | 'health'
  /** The node that answers. */
  | 'localNode'
  /** Log entries counted by tag. */
  | 'logSummary'

/** What differs in a row. */
export interface RowRule {
  /**
   * The fields that have another name or another form, by their v4 name, with dots for nested ones. They are renamed in
   * rows, and in the parameters `select`, `sort` and `q` the other way around.
   */
  readonly fields?: Readonly<Record<string, FieldRule>>
  /** The text `unknown` means a missing value, but not in these fields. */
  readonly unknownIsMissing?: { readonly except: readonly string[] }
  /** The kind of rows that `collections/sources.ts` filters, sorts and pages if a parameter is evaluated by the edge. */
  readonly source?: string
  /** A field that the v3 layout has for two of the v4 one: their texts, with a slash in between. */
  readonly joined?: { readonly to: string; readonly of: readonly [string, string] }
}

export interface FieldRule {
  /** The v3 name, with dots for nested fields. Absent: the same. */
  readonly to?: string
  /** The v3 name in parameters, if rows have the field under its v4 name (`scan.id` is selected as `scan_id`). */
  readonly param?: string
  /** A second field of the v3 layout that depends on the same value. */
  readonly also?: { readonly to: string; readonly value: ValueRule }
  readonly value?: ValueRule
  /** Values in `q` that have another word there. The key is the v3 value in lower case and without spaces. */
  readonly words?: Readonly<Record<string, string>>
  /** The v4 field by which the v3 layout sorts in place of this one. */
  readonly sortedBy?: string
  /** The v3 layout has no such field. */
  readonly dropped?: true
}

/** How a value is converted; each word is a function in `layouts/v4/rows.ts`. */
export type ValueRule =
  | 'date'
  | 'slashedDate'
  | 'preciseDate'
  /** As the shell writes a date: `Mon Feb 24 14:53:16 UTC 2020`. */
  | 'longDate'
  | 'agentStatus'
  | 'daemon'
  /** `{running: true, …}` as `running`. */
  | 'daemonState'
  | 'integer'
  /** A date, or ND if there is none. */
  | 'scanTime'
  /** The members `{pattern, …}` of an object as texts. */
  | 'patterns'
  /** `rw-r--r--` as 100644. */
  | 'permissions'
  /** No value if the text is blank. */
  | 'nonBlank'
  /** The keys and values of Windows are one kind of entry. */
  | 'syscheckType'
  /** The result of a check, which the v3 layout has only if the check applies. */
  | 'checkResult'
  /** Why a check has no result. */
  | 'checkStatus'

/** What an error means in the v3 layout: another code (with its v3 text), or no error of the whole request. */
export type ErrorRule = number | NoError

/**
 * `empty`: a response without rows. `success`: the text of the response rule. `failedItems`: each item of the list failed
 * with it.
 */
export type NoError = 'empty' | 'success' | 'failedItems'
