/** Paths, parameters and request bodies of the OpenAPI document. */
import type { Body, Endpoint, Field, Param } from '../../../src/contracts/endpoint.ts'
import { kinds, type ValueKind } from '../../../src/contracts/schemas/kinds.ts'
import { pathValue } from './example.ts'

export type Json = Readonly<Record<string, unknown>>

/** A path as OpenAPI writes it. `name` is a parameter's name in the record, `documentName` its name in the document. */
export interface PathTemplate {
  readonly path: string
  readonly names: readonly { readonly name: string; readonly documentName: string }[]
}

/**
 * Returns the template of each endpoint. OpenAPI refuses two paths that differ only in the names of their parameters
 * (`/agents/:agent_id`, `/agents/:agent_name`). Such paths share the names of their first GET, or else of their first
 * record.
 */
export function pathTemplates(catalogue: readonly Endpoint[]): (endpoint: Endpoint) => PathTemplate {
  const documentNames = new Map<string, readonly string[]>()
  const readsFirst = catalogue.toSorted((a, b) => Number(b.method === 'GET') - Number(a.method === 'GET'))
  for (const path of readsFirst.map(pathWithStar)) {
    if (!documentNames.has(shapeOf(path))) documentNames.set(shapeOf(path), namesOf(path))
  }
  return (endpoint) => {
    const path = pathWithStar(endpoint)
    const names = documentNames.get(shapeOf(path)) ?? []
    let at = 0
    return {
      path: path.replace(/:[^/]+/g, () => `{${names[at++]}}`),
      names: namesOf(path).map((name, index) => ({ name, documentName: names[index] ?? name })),
    }
  }
}

/** OpenAPI allows one parameter per place. A list of nodes is written as `*`, and the description explains it. */
function pathWithStar({ path, params }: Endpoint): string {
  const routed = Object.entries(params).filter(([, param]) => param.routePattern !== undefined)
  return routed.reduce((text, [name]) => text.replace(`:${name}`, '*'), path)
}

function shapeOf(path: string): string {
  return path.replace(/:[^/]+/g, ':')
}

function namesOf(path: string): readonly string[] {
  return (path.match(/:[^/]+/g) ?? []).map((name) => name.slice(1))
}

/** Query parameters of every endpoint. */
export const commonParameters: Readonly<Record<string, Json>> = {
  pretty: flag('pretty', 'Indents the response by three spaces. The value is ignored.'),
  waitForComplete: flag('wait_for_complete', 'Lifts the time limits for this request. The value is ignored.'),
}

function flag(name: string, description: string): Json {
  return { name, in: 'query', description, allowEmptyValue: true, schema: { type: 'string' } }
}

export function parametersOf(endpoint: Endpoint, { names }: PathTemplate): readonly Json[] {
  const params: Readonly<Record<string, Param>> = endpoint.params
  const path = names.map(({ name, documentName }) => {
    const param = params[name]
    if (param === undefined) return []
    const { schema, ...rest } = parameter(documentName, 'path', param, name === documentName ? undefined : name)
    const text = pathValue(endpoint.path, name, param)
    return [{ ...rest, schema, example: schema.type === 'integer' ? Number(text) : text }]
  })
  const query = Object.entries(endpoint.query).map(([name, param]) => parameter(name, 'query', param))
  const common = Object.keys(commonParameters).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  return [
    ...path.flat(),
    ...query,
    ...(endpoint.minimal === undefined ? [] : [preference(endpoint.minimal)]),
    ...common,
  ]
}

/** The header of RFC 7240, which some endpoints honour. */
function preference(minimal: string): Json {
  const description = `\`return=minimal\`: the response is ${minimal}, and has the header \`Preference-Applied\`.`
  return { name: 'Prefer', in: 'header', description, schema: { type: 'string' } }
}

type Parameter = Json & { readonly schema: Json }

function parameter(documentName: string, place: 'path' | 'query', param: Param, recordName?: string): Parameter {
  return {
    name: documentName,
    in: place,
    description: describe(param),
    ...((place === 'path' || param.required !== undefined) && { required: true }),
    ...(param.kind === 'flag' && { allowEmptyValue: true }),
    schema: schemaOf(param),
    ...(recordName !== undefined && { 'x-name': recordName }),
    ...(param.beyondSeed && { 'x-beyond-seed': true }),
  }
}

function describe(param: Param): string {
  const { startsWith, requires, allowed } = param
  return sentences(
    param.role,
    allowed && `known values: ${allowed.join(', ')}`,
    param.note,
    startsWith && `begins with a prefix from the setting ${startsWith}`,
    requires && `needs ${requires}`,
    `error codes: ${errorCodesOf(param).join(', ')}`,
  )
}

/** Returns the codes of the errors with which the edge refuses a value, in ascending order. */
export function errorCodesOf(param: Param): readonly number[] {
  const codes = [
    kinds[param.kind].code,
    ...(param.required ? [param.required] : []),
    ...(param.requires ? [604] : []),
    ...(param.within ? [param.within.code] : []),
    ...(param.startsWith ? [608] : []),
  ]
  return [...new Set(codes)].sort((a, b) => a - b)
}

/** Numbers that are not identifiers are integers. Everything else is text with a pattern. */
function schemaOf(param: Param): Json {
  if (param.kind === 'numbers' && param.canonical === undefined) return integerSchema(param)
  if (param.kind === 'boolean')
    return { type: 'boolean', ...(param.default !== undefined && { default: param.default }) }
  return {
    ...textSchema(kinds[param.kind]),
    ...(param.within && { allOf: [{ pattern: param.within.pattern }] }),
    // The default of a flag is its absence, which no value expresses.
    ...(param.default !== undefined && param.kind !== 'flag' && { default: String(param.default) }),
    ...(param.allowed && { examples: param.allowed }),
  }
}

function integerSchema({ default: preset, pageLimit }: Param): Json {
  return {
    type: 'integer',
    minimum: pageLimit ? 1 : 0,
    ...(pageLimit?.max !== undefined && { maximum: pageLimit.max }),
    ...(preset !== undefined && { default: preset }),
  }
}

function textSchema({ pattern, maxLength }: ValueKind): Json {
  return { type: 'string', ...(pattern !== undefined && { pattern }), maxLength }
}

export function bodyOf(body: Body, example: unknown): Json {
  if (body.kind === 'upload') return { required: true, content: contentOf(body.types, uploadSchema, UPLOAD_EXAMPLE) }
  const fields = Object.entries(body.fields)
  const required = fields.filter(([, field]) => field.required !== undefined).map(([name]) => name)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, field]) => [name, fieldSchema(field)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
  return { required: required.length > 0, content: contentOf(body.types, schema, example) }
}

export const UPLOAD_EXAMPLE = '<contents of the file>'

const uploadSchema: Json = { type: 'string', description: 'The contents of the file' }

/** Tools would invent a body from the schema where there is no example. */
function contentOf(types: readonly string[], schema: Json, example: unknown): Json {
  return Object.fromEntries(types.map((type) => [type, { schema, example }]))
}

function fieldSchema(field: Field): Json {
  const { role, note, fill, kind } = field
  const clientAddress = fill === 'clientAddress' ? 'default: the address of the client' : undefined
  return {
    ...typeOf(field),
    description: sentences(role, note, clientAddress, kind && `error code: ${kinds[kind].code}`),
    ...(field.default !== undefined && { default: field.default }),
  }
}

function typeOf({ type, kind, maxLength }: Field): Json {
  if (type === 'integer' || type === 'boolean') return { type }
  const value: ValueKind | undefined = kind && kinds[kind]
  const text = (of: ValueKind | undefined) => ({
    ...(of === undefined ? { type: 'string' } : textSchema(of)),
    ...(maxLength !== undefined && { maxLength }),
  })
  if (type === 'string') return text(value)
  return value?.listOf === undefined
    ? { type: 'array', items: text(value) }
    : { type: 'array', minItems: 1, items: text(kinds[value.listOf]) }
}

/** Joins the parts that are present, each as a sentence. */
export function sentences(...parts: readonly (string | undefined | false)[]): string {
  const present = parts.filter((part): part is string => typeof part === 'string' && part !== '')
  return present.map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}.`.replace(/([.?!])\.$/, '$1')).join(' ')
}
