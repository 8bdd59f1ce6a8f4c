/**
 * The errors of each operation: those of the edge by HTTP status, and those of the manager. `manager-errors.json`: what each
 * code of the manager means; the codes that every endpoint may return that a node answers; further codes by method and
 * path, from the contract and the recorded exchanges; those of other reads by parameter. A later release of the manager may
 * have more codes.
 */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { kinds } from '../../../src/contracts/schemas/kinds.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'
import managerErrors from './manager-errors.json' with { type: 'json' }
import { errorCodesOf } from './parameters.ts'

/** Every code that a response may have, in ascending order. */
export const allCodes: readonly number[] = ascending([
  ...Object.keys(errorTable).map(Number),
  ...Object.keys(managerErrors.meanings).map(Number),
])

const edgeErrors = Object.entries<ErrorDefinition>(errorTable).map(([code, error]) => ({
  code: Number(code),
  ...error,
}))

/** Returns the errors of the edge with such a status, without those of the console and of drains. */
export function edgeCodes(matches: (status: number) => boolean): readonly number[] {
  return edgeErrors.filter(({ of, status }) => of !== 'console' && matches(status)).map(({ code }) => code)
}

/** Returns the codes with which the edge refuses the parameters or the body of this operation (HTTP 400). */
export function requestCodes(endpoint: Endpoint): readonly number[] {
  const { params, query, oneOf } = endpoint
  const strictQuery = endpoint.contract === 'v4' || endpoint.strictQuery
  const ofParams = [...Object.values(params), ...Object.values(query)].flatMap(errorCodesOf)
  return ascending([...ofParams, ...(strictQuery || oneOf ? [604] : []), 614, 801, 802, 900, ...bodyCodes(endpoint)])
}

function bodyCodes(endpoint: Endpoint): readonly number[] {
  const body = describedBody(endpoint)
  if (!body) return endpoint.method === 'POST' ? [607] : []
  if (body.kind === 'upload') return [607, 701, 703, 705, body.wrongType]
  return [604, 607, 701, ...Object.values(body.fields).flatMap(({ kind }) => (kind ? [kinds[kind].code] : []))]
}

/** Returns the errors of the manager that are particular to this operation. */
export function managerCodes({ method, path, target, params, query }: Endpoint): readonly number[] {
  if (target.kind === 'edge') return []
  const isOfSeveral = target.kind === 'severalNodes'
  const byEndpoint: Readonly<Record<string, readonly number[]>> = managerErrors.byEndpoint
  const codes = byEndpoint[`${method} ${isOfSeveral ? target.ofNode : path}`]
  if (codes !== undefined || method !== 'GET' || isOfSeveral) return codes ?? []
  const byParameter: Readonly<Record<string, readonly number[]>> = managerErrors.byParameter
  const names = [...Object.keys(params).map((name) => `:${name}`), ...Object.keys(query)]
  return ascending(names.flatMap((name) => byParameter[name] ?? []))
}

/** Whether an operation has the errors with this `of` in src/core/errors.json. */
const hasErrorsOf: Readonly<Record<string, (endpoint: Endpoint) => boolean>> = {
  all: () => true,
  call: ({ target }) => target.kind !== 'edge',
  write: ({ target, method }) => target.kind !== 'edge' && method !== 'GET',
  auditedWrite: ({ method }) => method !== 'GET',
  lockedWrite: (endpoint) => 'writeLock' in endpoint,
  joinedRead: ({ target, method }) => isJoined(target) && method === 'GET',
  joinedWrite: ({ target, method }) => isJoined(target) && method !== 'GET',
  logOut: ({ target }) => target.kind === 'edge' && target.operation === 'revokeTokens',
  // The console and the operations listener are not part of this API.
  console: () => false,
}

function isJoined({ kind }: Endpoint['target']): boolean {
  return kind === 'everyNode' || kind === 'agentOwners'
}

/** Returns the codes of HTTP 5xx. */
export function failureCodes(endpoint: Endpoint): readonly number[] {
  const failures = edgeErrors.filter(({ status, of = 'call' }) => status >= 500 && hasErrorsOf[of]?.(endpoint))
  return failures.map(({ code }) => code)
}

/** Returns the codes of an operation by HTTP status, for programs. Those of 401, 403, 429 and other 4xx are the same for all. */
export function codesByStatus(endpoint: Endpoint): Readonly<Record<string, readonly number[]>> {
  const isOfEdge = endpoint.target.kind === 'edge'
  const ofNodes = managerErrors.ofNodes.filter((code) => code !== 4000)
  return {
    ...(!isOfEdge && { 200: ascending([...managerCodes(endpoint), ...ofNodes]) }),
    400: requestCodes(endpoint),
    '5XX': failureCodes(endpoint),
  }
}

/** Errors of the request itself, which have their own status. */
export const otherRefusals = edgeCodes((s) => s > 400 && s < 500 && ![401, 403, 429].includes(s))

export function ascending(codes: readonly number[]): readonly number[] {
  return [...new Set(codes)].sort((a, b) => a - b)
}
