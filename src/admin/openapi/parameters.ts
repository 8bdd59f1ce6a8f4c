import type { Endpoint, Param } from '../../catalogue/endpoint.ts'
import { kinds, type ValueKind } from '../../catalogue/schemas/kinds.ts'
import type { PathTemplate } from './paths.ts'

export type Json = Readonly<Record<string, unknown>>

/** Taken by every endpoint and looked at before all others. */
export const commonParameters: Readonly<Record<string, Json>> = {
  pretty: flag('pretty', 'Indents the answer by three spaces. Presence alone counts.'),
  waitForComplete: flag('wait_for_complete', 'Lifts the time limits for this request. Presence alone counts.'),
}

function flag(name: string, description: string): Json {
  return { name, in: 'query', description, allowEmptyValue: true, schema: { type: 'string' } }
}

/** The parameters of one operation. `template` says under which names the path has its own. */
export function parametersOf(endpoint: Endpoint, template: PathTemplate): readonly Json[] {
  const path = template.names.map(({ own, shown }) => {
    const param = endpoint.params[own]
    return param ? [parameter(shown, 'path', param, own === shown ? undefined : own)] : []
  })
  const query = Object.entries(endpoint.query).map(([name, param]) => parameter(name, 'query', param))
  const common = Object.keys(commonParameters).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  return [...path.flat(), ...query, ...common]
}

function parameter(name: string, place: 'path' | 'query', param: Param, ownName?: string): Json {
  return {
    name,
    in: place,
    description: describe(param),
    ...((place === 'path' || param.required !== undefined) && { required: true }),
    ...(param.kind === 'flag' && { allowEmptyValue: true }),
    schema: schemaOf(param),
    ...(ownName !== undefined && { 'x-name': ownName }),
    ...(param.beyondSeed && { 'x-beyond-seed': true }),
  }
}

function describe(param: Param): string {
  const { startsWith, requires: needs, allowed } = param
  return sentences(
    param.role,
    allowed && `known values: ${allowed.join(', ')}`,
    param.note,
    startsWith && `begins with one of the setting ${startsWith}`,
    needs && `needs ${needs}`,
    `refused with ${codesOf(param).join(', ')}`,
  )
}

/** The codes that a value can answer at the edge. */
export function codesOf(param: Param): readonly number[] {
  const codes = [
    kinds[param.kind].code,
    ...(param.required ? [param.required] : []),
    ...(param.requires ? [604] : []),
    ...(param.within ? [param.within.code] : []),
    ...(param.startsWith ? [608] : []),
  ]
  return [...new Set(codes)].sort((a, b) => a - b)
}

/** Numbers that are no identifiers are integers, everything else is text under a pattern. */
function schemaOf(param: Param): Json {
  if (param.kind === 'numbers' && param.canonical === undefined) return integer(param)
  if (param.kind === 'boolean')
    return { type: 'boolean', ...(param.default !== undefined && { default: param.default }) }
  return {
    ...textSchema(kinds[param.kind]),
    ...(param.within && { allOf: [{ pattern: param.within.pattern }] }),
    // A flag is absent or there; its default is absence, which no value says.
    ...(param.default !== undefined && param.kind !== 'flag' && { default: String(param.default) }),
    ...(param.allowed && { examples: param.allowed }),
  }
}

function integer({ default: preset, pageLimit }: Param): Json {
  return {
    type: 'integer',
    minimum: pageLimit ? 1 : 0,
    ...(pageLimit?.max !== undefined && { maximum: pageLimit.max }),
    ...(preset !== undefined && { default: preset }),
  }
}

export function textSchema({ pattern, maxLength }: ValueKind): Json {
  return { type: 'string', ...(pattern !== undefined && { pattern }), maxLength }
}

/** Puts parts together as sentences; what is absent is left out. */
export function sentences(...parts: readonly (string | undefined)[]): string {
  const written = parts.filter((part) => part !== undefined && part !== '')
  return written
    .map((part) => `${part?.charAt(0).toUpperCase()}${part?.slice(1)}.`.replace(/([.?!])\.$/, '$1'))
    .join(' ')
}
