/**
 * The errors of each operation: those of the edge by HTTP status, and those of the manager. `manager-errors.json`: what each
 * code of the manager means; the codes that every endpoint may return that a node answers; further codes by method and
 * path, from the contract and the recorded exchanges; those of other reads by parameter. A later release of the manager may
 * have more codes.
 */
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { kinds } from '../../../src/contracts/schemas/kinds.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import { errorTable } from '../../../src/core/errors.ts'
import managerErrors from './manager-errors.json' with { type: 'json' }
import { errorCodesOf } from './parameters.ts'

/** Every code that a response may have, in ascending order. */
export const allCodes: readonly number[] = ascending([
  ...Object.keys(errorTable).map(Number),
  ...Object.keys(managerErrors.meanings).map(Number),
])

const statusOf: Readonly<Record<number, { readonly status: number }>> = errorTable

/** Errors of the sign-in to the console, which is not part of this API. */
const OF_CONSOLE = [912, 913]

export function edgeCodes(matches: (status: number) => boolean): readonly number[] {
  return Object.keys(errorTable)
    .map(Number)
    .filter((code) => !OF_CONSOLE.includes(code) && matches(statusOf[code]?.status ?? 0))
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

const FAULTS_OF_CALLS = [911, 920, 921, 922, 924, 925, 926, 927, 931, 937, 938, 949]
const FAULTS_OF_WRITES = [923, 928, 930, 936, 939, 942, 943, 946]
const FAULTS_OF_JOINED_WRITES = [932, 933]

/** Returns the codes of HTTP 5xx. */
export function failureCodes(endpoint: Endpoint): readonly number[] {
  const { target, method } = endpoint
  const isWrite = method !== 'GET'
  if (target.kind === 'edge' && target.operation === 'revokeTokens') return [911, 936, 944, 949]
  if (target.kind === 'edge') return isWrite ? [911, 936, 949] : [911, 949]
  const isJoined = target.kind === 'everyNode' || target.kind === 'agentOwners'
  return ascending([
    ...FAULTS_OF_CALLS,
    ...(isJoined && !isWrite ? [935] : []),
    ...(isWrite ? FAULTS_OF_WRITES : []),
    ...(isWrite && isJoined ? FAULTS_OF_JOINED_WRITES : []),
    ...('writeLock' in endpoint ? [934] : []),
  ])
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
