/** Builds the values and parameters of the records of the newer contract. */
import type { Body, Field, Param } from '../endpoint.ts'
import type { Bool, Format, List, Numeric, Releases, Text, Value, Values } from './value.ts'

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

/** Returns the value as only some releases have it. */
export function since<V extends Value>(release: NonNullable<Releases['since']>, value: V): V {
  return { ...value, releases: { since: release } }
}

/** Returns a parameter of path or query. */
export function param(role: string, value: Value): Param {
  return { kind: 'described', role, value, ...(value.default !== undefined && { default: value.default }) }
}

/** Returns a parameter without which the manager refuses the request. */
export function required(role: string, value: Value): Param {
  return { ...param(role, value), required: 604 }
}

/** The type of a field in the words of the classic contract. The newer one is validated by `value`. */
const FIELD_TYPES: Readonly<Record<Value['type'], Field['type']>> = {
  string: 'string',
  boolean: 'boolean',
  integer: 'integer',
  number: 'integer',
  array: 'strings',
  object: 'string',
}

/** Returns a JSON body with these members. A name with `?` may be missing. `open`: other members are valid too. */
export function json(members: Readonly<Record<string, Value>>, { open }: { readonly open?: true } = {}): Body {
  const fields = Object.entries(members).map(([name, value]): [string, Field] => {
    const isOptional = name.endsWith('?')
    return [
      name.replace('?', ''),
      { type: FIELD_TYPES[value.type], role: '', value, ...(!isOptional && { required: 604 }) },
    ]
  })
  return { kind: 'fields', types: ['application/json'], fields: Object.fromEntries(fields), ...(open && { open }) }
}

/** Returns a body that is a file. */
export function file(type: 'application/xml' | 'application/octet-stream'): Body {
  return { kind: 'upload', types: [type], wrongType: 607 }
}
