/** Functions over trees of settings. A path is the list of keys from the root of the file. */
import { isObject, ownEntry } from '../core/values.ts'

export type Path = readonly (string | number)[]

/** When a changed setting takes effect: with the next reload, only if it was set before and is set after it, or with the next start. */
export type Effect = 'reload' | 'reloadIfSet' | 'restart'

/** `message`: what is reported of a value beyond the bounds. */
export interface Bounds {
  readonly min?: number
  readonly max?: number
  readonly message: string
}

/** The parts of a JSON Schema that these functions read. */
export interface SchemaNode {
  readonly type?: string
  readonly format?: string
  readonly default?: unknown
  /** Absent: that of the group around it; `reload` if no group states one. */
  readonly effect?: Effect
  readonly secret?: boolean
  /** The file of this path must be readable. */
  readonly readable?: boolean
  readonly bounds?: Bounds
  /** Follows "must be" in a message. */
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
}

export interface Leaf {
  readonly path: readonly string[]
  readonly schema: SchemaNode
  /** What the schema states for the value, or for a group around it. */
  readonly effect: Effect
}

/** Parses `cluster.limits.inFlight`. */
export function pathOf(name: string): readonly string[] {
  return name.split('.')
}

/** Returns `cluster.nodes[0].url`. */
export function formatPath(path: Path): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`)).join('')
}

export function startsWith(path: Path, head: Path): boolean {
  return head.every((key, i) => path[i] === key)
}

/** Returns everything that is not a closed group: values, lists and tables. */
export function listLeaves(schema: SchemaNode, path: readonly string[] = [], around: Effect = 'reload'): Leaf[] {
  const { properties, effect = around } = schema
  if (!properties) return [{ path, schema, effect }]
  return Object.entries(properties).flatMap(([key, member]) => listLeaves(member, [...path, key], effect))
}

/** Returns the schema at a path; `undefined` if the schema has no such path. */
export function schemaAt(schema: SchemaNode, path: Path): SchemaNode | undefined {
  let current: SchemaNode | undefined = schema
  for (const key of path) {
    if (!current) return undefined
    current = typeof key === 'number' ? current.items : (ownEntry(current.properties, key) ?? tableValueSchema(current))
  }
  return current
}

/** Returns the schema of the values of a table, whose keys the operator chooses. */
export function tableValueSchema(schema: SchemaNode): SchemaNode | undefined {
  return schema.patternProperties && Object.values(schema.patternProperties)[0]
}

export function getIn(tree: unknown, path: Path): unknown {
  let current = tree
  for (const key of path)
    current = Array.isArray(current)
      ? current[Number(key)]
      : isObject(current)
        ? ownEntry(current, `${key}`)
        : undefined
  return current
}

/** Sets a value and creates the groups above it. A value that is no group on the way is left for the validation. */
export function setIn(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path
  if (head === undefined) return
  if (rest.length === 0) {
    tree[head] = value
    return
  }
  const next = ownEntry(tree, head) ?? {}
  tree[head] = next
  if (isObject(next)) setIn(next, rest, value)
}

/** Returns a copy without the keys that have no value, such as `ca:`. They count as not written. */
export function withoutNulls(tree: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(tree).filter(([, member]) => member !== null)
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutNullsDeep(member)]))
}

function withoutNullsDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullsDeep)
  return isObject(value) ? withoutNulls(value) : value
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
