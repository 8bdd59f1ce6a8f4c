/**
 * What a collection is asked over and with: values only. A source is described as data, so that one
 * algorithm serves every collection of the manager (contract/semantics.md section 2).
 */

/** An object, nested (agents: `os.version`) or flat (inventory: `scan_id`). Missing and `undefined` are the same. */
export type Row = Readonly<Record<string, unknown>>

/** An element of a collection: an object, or a text (catalogues of requirements and groups). */
export type Element = Row | string

/** A collection request as the API takes it; texts are not decoded further. */
export interface CollectionRequest {
  /** Default 0. */
  readonly offset?: number
  /** Default 500. 0 is refused with 1406; above 1000 with 1405. */
  readonly limit?: number
  readonly sort?: string
  readonly search?: string
  readonly select?: string
  readonly q?: string
  /** Named query parameters that narrow the collection (`status`, `os.platform`, …), by name. */
  readonly filters?: Readonly<Record<string, string>>
  /** The moment from which time frames (`older_than=1d`, `lastKeepAlive<1d`) are counted. */
  readonly now: Date
}

/** One page, and how many elements match over all pages. */
export interface Collected<T = Element> {
  readonly items: T[]
  readonly totalItems: number
}

/**
 * How a field of a database is compared. `text`: without case; `number`: texts of digits are numbers too
 * (`id>2` over "003"); `date`: as text, and in `q` by time frames; `day`: as text, in `q` by days only;
 * `status`: the state of an agent, blanks and case do not count; `label`: text in which the blank before a
 * version's `v` may be missing; `list`: by any of its members.
 */
export type FieldKind = 'text' | 'number' | 'date' | 'day' | 'status' | 'label' | 'list'

/** A key to sort by in the place of a field. `as: 'number'`: texts of digits are read as numbers. */
export interface SortBy {
  readonly field: string
  readonly as?: 'number'
}

/**
 * How a named parameter narrows. Without a rule it equals the field of its own name: in a database without
 * case and with a comma for any of several, in an array exactly; a field that is a list by any of its members.
 */
export type Filter =
  | {
      readonly by: 'equal'
      /** The fields of which one must fit, if it is not the field of the parameter's name. */
      readonly fields?: readonly string[]
      /** Anything but these values and `everything` answers this code. */
      readonly allowed?: { readonly values: readonly string[]; readonly code: 1202 | 1603 | 1728 }
      /** The value that asks for everything. */
      readonly everything?: string
    }
  /** `N` or `N-M`, both included (1203). */
  | { readonly by: 'range'; readonly field: string }
  /** A time frame (1411): its field lies longer ago, or, where that has no value, `orElse` does. */
  | { readonly by: 'olderThan'; readonly field: string; readonly orElse: string }

interface Common {
  /**
   * Sort text of the order where none is asked (`+id`, `-timestamp`); catalogues take any name for their texts.
   * Absent: the order of the rows, and a sort without a field is refused (1404).
   */
  readonly order?: string
  /** Other keys to sort by than the field itself, by field. */
  readonly sortBy?: Readonly<Record<string, readonly SortBy[]>>
  readonly filters?: Readonly<Record<string, Filter>>
}

/** A table of a database: its fields are known, text is compared without case, faults are told (1403, 1408, 1724). */
export interface DatabaseSource extends Common {
  readonly engine: 'database'
  /** Every field that may be sorted by, selected and queried, dotted for nested rows. */
  readonly fields: Readonly<Record<string, FieldKind>>
  /** Fields that are searched and sorted by but never answered nor selected (the key of an agent). */
  readonly hidden?: readonly string[]
  /** A search of digits only finds this field by its number (agents: `search=001`). */
  readonly searchNumber?: string
  /** Fields that `select` always adds. */
  readonly always?: readonly string[]
  /** Rows are flat and are nested when they leave (`scan_id` → `scan: {id}`). */
  readonly nested?: true
}

/** Values in memory: fields are those of the first row, text is compared with case, `~` means "begins with". */
export interface ArraySource extends Common {
  readonly engine: 'array'
  /** The source's own order tells capitals from small letters, though a sort that is asked for does not. */
  readonly caseCounts?: true
  /** The fields that `select` takes (1724 for others); absent: any `select` fails with 1000, as it does there. */
  readonly selectable?: readonly string[]
  /** The fields that may be sorted by; absent: those of the first row. */
  readonly sortable?: readonly string[]
  /** The fields that are searched; absent: every value, nested ones too. */
  readonly searched?: readonly string[]
  /** The offset is cut before search and sort, there is no greatest limit, and totalItems counts the page (lists). */
  readonly offsetFirst?: true
}

export type Source = DatabaseSource | ArraySource
