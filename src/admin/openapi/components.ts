/** The named schemas of the document: what the records name, and everything that these refer to. */
import type { Endpoint, ResponseShape } from '../../catalogue/endpoint.ts'
import { type Schema, schemaOf, schemas } from '../../catalogue/items/index.ts'

const PREFIX = '#/components/schemas/'

/** Whether a request may select some of the fields. */
export function hasSelect({ query }: Endpoint): boolean {
  const select = (query as Endpoint['query']).select
  return select !== undefined && select.selectsNothing !== true
}

/** The name of the component of `data`, or of an element of `data`. */
export function componentName({ schema, adds }: ResponseShape): string {
  if (adds === undefined) return schema
  return `${schema}${adds === 'agent_id' ? 'OfAgent' : 'OfNode'}`
}

/** Returns the schema with all fields that a response has without `select`. */
export function completeSchema({ schema, adds }: ResponseShape): Schema {
  const base = schemas[schema] ?? {}
  return adds === undefined ? base : withField(base, adds)
}

/** Returns the components of these records. */
export function componentsOf(catalogue: readonly Endpoint[]): Readonly<Record<string, Schema>> {
  const components = new Map<string, Schema>()
  const add = (name: string, schema: Schema): void => {
    if (components.has(name)) return
    components.set(name, schema)
    for (const referred of referredNames(schema)) add(referred, schemas[referred] ?? {})
  }
  for (const { response } of catalogue) add(componentName(response), completeSchema(response))
  for (const { response } of catalogue.filter(hasSelect)) {
    const name = componentName(response)
    components.set(name, selectable(completeSchema(response)))
  }
  return Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The field that the edge adds to each item of a joined response. */
const ADDED_FIELDS = {
  agent_id: schemaOf('string: The agent that the item belongs to.'),
  node_name: schemaOf('string: The node that returned the item.'),
} as const

type Fields = Readonly<Record<string, Schema>>

/** A value that is not an object becomes a field of one, as in `join/several-nodes.ts`. */
function withField(value: Schema, adds: NonNullable<ResponseShape['adds']>): Schema {
  const base: Schema = value.type === 'string' ? { properties: { contents: value }, required: ['contents'] } : value
  const { properties = {}, required = [] } = base as { properties?: Fields; required?: readonly string[] }
  return {
    additionalProperties: value.type !== 'string',
    ...base,
    type: 'object',
    properties: { [adds]: ADDED_FIELDS[adds], ...properties },
    required: [adds, ...required],
  }
}

/** With `select` a response has the selected fields only, also of inner objects. */
function selectable(schema: Schema): Schema {
  const { description, required } = schema as { description?: string; required?: readonly string[] }
  return {
    ...withoutRequired(schema),
    description: [description, 'With select only the selected fields are present.'].filter(Boolean).join(' '),
    ...(required && { 'x-present-without-select': required }),
  }
}

function withoutRequired(schema: Schema): Schema {
  const { required: _, ...rest } = schema
  const properties = rest.properties as Fields | undefined
  if (properties === undefined) return rest
  const inner = Object.entries(properties).map(([name, field]) => [name, withoutRequired(field)])
  return { ...rest, properties: Object.fromEntries(inner) }
}

function referredNames(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner.slice(PREFIX.length)] : referredNames(inner),
  )
}
