/** Legal requests for an endpoint: each parameter alone, and objects that do not exist. */
import { sampleOf } from '../../support/sample-values.ts'
import type { ContractEndpoint, ContractParam } from '../facts.ts'
import { type ContractRequest, companions, type Make, urlOf } from './plain.ts'
import { UNKNOWN, unknownNames } from './values.ts'

/** Returns a request with an unknown object for each name of the path. */
export function unknownObjects(endpoint: ContractEndpoint, request: Make): ContractRequest[] {
  return (endpoint.path_params ?? [])
    .filter(({ name }) => !creates(endpoint, name))
    .map(({ name }) => request(`:${name} unknown`, urlOf(endpoint, {}, { [name]: unknownNames[name] ?? UNKNOWN })))
}

/** The object is created, so it is never unknown. */
function creates({ id }: ContractEndpoint, name: string): boolean {
  return (id === 'PUT /agents/:agent_name' && name === 'agent_name') || id === 'PUT /agents/groups/:group_id'
}

/** Returns requests with each parameter of the query alone. Filters take their values from the row. */
export function legalParameters(endpoint: ContractEndpoint, row: unknown, request: Make): ContractRequest[] {
  return (endpoint.query_params ?? []).flatMap((param) => {
    const { name, allowed = [] } = param
    const values = { ...companions(name), [name]: legalValue(param, row) }
    const words = allowed.filter((word) => !String(word).startsWith('(')).map(String)
    // Three names of digests are enough.
    const tried = name === 'hash' ? words.slice(0, 3) : words
    return [
      ...(tried.length === 0 ? [request(`?${name}`, urlOf(endpoint, values))] : []),
      ...tried.map((word) => request(`?${name}=${word}`, urlOf(endpoint, { [name]: word }))),
      ...(tried.length > 0 && /^(?:names|alphanumeric)$/.test(param.validator)
        ? [request(`?${name} of no known word`, urlOf(endpoint, { [name]: UNKNOWN }))]
        : []),
      ...(['sort', 'select', 'query'].includes(param.validator) ? [unknownField(endpoint, param, request)] : []),
    ]
  })
}

function unknownField(endpoint: ContractEndpoint, { name, validator }: ContractParam, request: Make): ContractRequest {
  return request(
    `?${name} of an unknown field`,
    urlOf(endpoint, { [name]: validator === 'query' ? `${UNKNOWN}=1` : UNKNOWN }),
  )
}

/** Returns a value of the row if it has a legal one, so that filters find the row. */
function legalValue({ name, validator }: ContractParam, row: unknown): string {
  const fields = Object.entries(typeof row === 'object' && row !== null ? row : {}).filter(([, value]) =>
    /^(?:string|number)$/.test(typeof value),
  )
  const [field, value] = fields.find(([, found]) => /^[\w .-]+$/.test(String(found))) ?? []
  if (field !== undefined && validator === 'sort') return `-${field}`
  if (field !== undefined && validator === 'select') return field
  if (field !== undefined && validator === 'query') return `${field}=${value}`
  const own = fields.find(([found]) => found === name)?.[1]
  const isLegal = validator === 'alphanumeric' ? /^[\w,.+: -]+$/ : /^\d+$/
  if (/^(?:alphanumeric|numbers)$/.test(validator) && own !== undefined && isLegal.test(String(own))) return String(own)
  return sampleOf(name, validator)
}
