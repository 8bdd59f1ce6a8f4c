/**
 * The types of the table for the newer layout of the manager's API (releases 4.x). Each record of the catalogue that a
 * node answers has a translation: which calls a node of the newer layout gets for a classic request, and what their
 * responses are in the classic layout. Translations are frozen data; `src/upstream/dialects/newer` reads them. What
 * needs more than a table has a word here (`plan`, `body`, a `kind` of response, a `ValueRule`), and each word has one
 * implementation there.
 */

export interface Translation {
  readonly call: CallTemplate
  /** How several calls give the response. Absent: one call. */
  readonly plan?: Plan
  readonly response: ResponseRule
  /** What errors of this endpoint mean in the classic layout, before the general table. The key is the newer code. */
  readonly errors?: Readonly<Record<number, ErrorRule>>
}

/**
 * Templates have placeholders. `:name` is a path parameter of the record. `{node}` at the beginning of a path is `/manager`
 * if the asked node is the one that the request is about, and `/cluster/<its name>` otherwise; in a value it is the name.
 */
export interface CallTemplate {
  /** Absent: the method of the record. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** Parameters that each call has, as templates of their values. */
  readonly fixed?: Readonly<Record<string, string>>
  /** The parameters of the record that are not sent with their own name and value. The key is the classic name. */
  readonly params?: Readonly<Record<string, ParamRule>>
  /** Absent: a body is sent as it is. */
  readonly body?: BodyRule
}

export interface ParamRule {
  /** The name in the newer layout. Absent: the classic name. */
  readonly as?: string
  /** Values that have another word there. The key is the classic value in lower case. */
  readonly words?: Readonly<Record<string, string>>
  /** Values (in lower case) with which the parameter is not sent. */
  readonly omitted?: readonly string[]
  /** `flag`: present is `true`. `date`: YYYYMMDD as YYYY-MM-DD. `daemon`: `ossec-x` as `wazuh-x`. */
  readonly format?: 'flag' | 'boolean' | 'date' | 'daemon'
  /** The node lacks the parameter: the edge asks for all rows and evaluates it. */
  readonly byEdge?: true
  /** Has no effect, and is not sent. */
  readonly ignored?: true
}

/** How a body is converted; each word is a function in `dialects/newer/bodies.ts`. `none`: there is no body. */
export type BodyRule = 'none'

/** How several calls give one response; each word is a function in `dialects/newer/plans/`. */
export type Plan = never

/** The shape of the classic `data`, and where it comes from. */
export type ResponseRule =
  /** `affected_items` and their total as `items` and `totalItems`. `value`: items are the values of this field. */
  | { readonly kind: 'collection'; readonly rows?: RowRule; readonly value?: string }
  /** The only item as an object, or one of its fields. `missing`: what no item means; absent: an empty object. */
  | { readonly kind: 'one'; readonly rows?: RowRule; readonly field?: string; readonly missing?: ErrorRule }
  /** `data` as it is. */
  | { readonly kind: 'object'; readonly rows?: RowRule }
  /** `affected_items` as an array. */
  | { readonly kind: 'array'; readonly rows?: RowRule }
  /** A list of objects with one key each, as one object. */
  | { readonly kind: 'keyed'; readonly rows?: RowRule }
  /** A text that the edge makes, as a template. */
  | { readonly kind: 'text'; readonly text: string }
  /** `{msg, affected_agents, failed_ids}`; `some`: the message if something failed. */
  | { readonly kind: 'affected'; readonly all: string; readonly some?: string; readonly list?: string }
  /** A shape of its own: a function in `dialects/newer/shapes.ts`. */
  | { readonly kind: 'own'; readonly shape: OwnShape; readonly rows?: RowRule }

export type OwnShape = 'agentSummary'

/** What differs in a row. */
export interface RowRule {
  /**
   * The fields that have another name or another form, by their newer name, with dots for nested ones. They are renamed in
   * rows, and in the parameters `select`, `sort` and `q` the other way around.
   */
  readonly fields?: Readonly<Record<string, FieldRule>>
  /** The kind of rows that `query/sources.ts` filters, sorts and pages if a parameter is evaluated by the edge. */
  readonly source?: string
}

export interface FieldRule {
  /** The classic name. Absent: the same. */
  readonly to?: string
  readonly value?: ValueRule
  /** The classic layout has no such field. */
  readonly dropped?: true
}

/** How a value is converted; each word is a function in `dialects/newer/values.ts`. */
export type ValueRule = 'date' | 'slashedDate' | 'preciseDate' | 'agentStatus' | 'daemon' | 'integer'

/**
 * What an error means in the classic layout: another code (with its classic text), a response without rows (`empty`), or
 * success (`success`: the text of the response rule).
 */
export type ErrorRule = number | 'empty' | 'success'
