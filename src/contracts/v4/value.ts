/**
 * The values of parameters and bodies of the v4 contract, in the words of the manager's own description (OpenAPI 3.0),
 * and the functions that write them. The manager names the failed keyword and the format in its error texts, so both are
 * part of the contract.
 */
import type { Format } from './formats.ts'

/** A release of the v4 layout, as major and minor version. */
export type Release = `${4 | 5}.${number}`

/** The releases that have something: from `since` on, up to `until`. Absent: all. */
export interface Releases {
  readonly since?: Release
  readonly until?: Release
}

export type Value = Text | Numeric | Bool | List | Values

interface Described {
  /** Absent: the manager has no default, or an equal request without the parameter is another one. */
  readonly default?: string | number | boolean
  readonly releases?: Releases
}

export interface Text extends Described {
  readonly type: 'string'
  readonly format?: Format
  readonly laterFormat?: { readonly since: Release; readonly format: Format }
  /** The only texts that are valid. */
  readonly words?: readonly string[]
  /** Of words that only some releases have. */
  readonly wordReleases?: Readonly<Record<string, Releases>>
  readonly minLength?: number
  readonly maxLength?: number
  /** What the manager's description adds to the schema, which its error texts contain: a text, and the name of a parameter. */
  readonly description?: string
  readonly reference?: string
  /** Of no effect on a text. */
  readonly minItems?: number
}

export interface Numeric extends Described {
  readonly type: 'integer' | 'number'
  readonly minimum?: number
  readonly maximum?: number
}

export interface Bool extends Described {
  readonly type: 'boolean'
}

export interface List extends Described {
  readonly type: 'array'
  readonly items: Text | Numeric
  readonly minItems?: number
}

export interface Values extends Described {
  readonly type: 'object'
  /** A name with `?` may be missing. Absent: any members. */
  readonly members?: Readonly<Record<string, Value>>
}

type Limits<T extends Value> = Omit<T, 'type' | 'format' | 'words' | 'items' | 'members'>

export function text(format?: Format, limits: Limits<Text> = {}): Text {
  return { type: 'string', ...(format && { format }), ...limits }
}

export function oneOf(...words: readonly string[]): Text {
  return { type: 'string', words }
}

/** Returns a text that is one of many words, which blanks separate. */
export function wordOf(words: string): Text {
  return oneOf(...words.trim().split(/\s+/))
}

export function integer(limits: Limits<Numeric> = {}): Numeric {
  return { type: 'integer', ...limits }
}

export function number(limits: Limits<Numeric> = {}): Numeric {
  return { type: 'number', ...limits }
}

export function bool(byDefault?: boolean): Bool {
  return { type: 'boolean', ...(byDefault !== undefined && { default: byDefault }) }
}

export function list(items: Text | Numeric, limits: Limits<List> = {}): List {
  return { type: 'array', items, ...limits }
}

export function object(members?: Readonly<Record<string, Value>>): Values {
  return { type: 'object', ...(members && { members }) }
}

/** Returns the value as only the releases from this one on have it. */
export function since<V extends Value>(release: Release, value: V): V {
  return { ...value, releases: { since: release } }
}

/** Returns the value as only the releases up to this one have it. */
export function until<V extends Value>(release: Release, value: V): V {
  return { ...value, releases: { until: release } }
}

/** Returns the releases of words, which blanks separate. */
export function wordsIn(releases: Releases, words: string): Readonly<Record<string, Releases>> {
  return Object.fromEntries(
    words
      .trim()
      .split(/\s+/)
      .map((word) => [word, releases]),
  )
}
