/** Walking the settings: one path is the list of keys from the root of the file. */
export type Path = readonly (string | number)[]

/** What the walkers read of a schema. */
export interface SchemaNode {
  readonly type?: string
  readonly format?: string
  readonly default?: unknown
  readonly secret?: boolean
  /** Follows "must be". */
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
}

export interface Leaf {
  readonly path: readonly string[]
  readonly schema: SchemaNode
}

/** `cluster.nodes[0].url`, as the faults write it. */
export function written(path: Path): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : i === 0 ? key : `.${key}`)).join('')
}

/** Everything that is not a closed group: values, lists and tables. */
export function leavesOf(schema: SchemaNode, path: readonly string[] = []): Leaf[] {
  if (!schema.properties) return [{ path, schema }]
  return Object.entries(schema.properties).flatMap(([key, member]) => leavesOf(member, [...path, key]))
}

/** The schema under a path; `undefined` where the path leaves it. */
export function schemaAt(schema: SchemaNode, path: Path): SchemaNode | undefined {
  let here: SchemaNode | undefined = schema
  for (const key of path) {
    if (!here) return undefined
    here = typeof key === 'number' ? here.items : (own(here.properties, key) ?? tableValues(here))
  }
  return here
}

/** The schema of the values of a table (names that the operator chooses). */
export function tableValues(schema: SchemaNode): SchemaNode | undefined {
  return schema.patternProperties && Object.values(schema.patternProperties)[0]
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function getIn(tree: unknown, path: Path): unknown {
  let here = tree
  for (const key of path)
    here = Array.isArray(here) ? here[Number(key)] : isObject(here) ? own(here, `${key}`) : undefined
  return here
}

/** Sets a value, making the groups above it; a value that is no group in between is left for the validation. */
export function setIn(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path
  if (head === undefined) return
  if (rest.length === 0) {
    tree[head] = value
    return
  }
  const next = own(tree, head) ?? {}
  tree[head] = next
  if (isObject(next)) setIn(next, rest, value)
}

/** A copy in which a key without a value (`ca:`) counts as not written. */
export function withoutNulls(tree: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(tree).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([key, member]) => [key, pruned(member)]))
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  return isObject(value) ? withoutNulls(value) : value
}

export function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}

function own<T>(record: Readonly<Record<string, T>> | undefined, key: string | number): T | undefined {
  return record && Object.hasOwn(record, key) ? record[key] : undefined
}
