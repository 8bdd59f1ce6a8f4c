/** The operations that assistants are offered: records of one contract, and the requests that they describe. */

import type { Contract, Endpoint, Param, ReadEndpoint, WriteEndpoint } from '../../../src/contracts/endpoint.ts'
import { bothContracts } from '../../../src/contracts/index.ts'
import { asksForSecret } from '../../../src/core/access.ts'
import { findSimilar } from '../../../src/core/errors.ts'
import { operationId } from '../../reference/src/document.ts'
import { sectionOf } from '../../reference/src/section.ts'

export interface Operation<E extends Endpoint = Endpoint> {
  /** As in the OpenAPI document. */
  readonly id: string
  readonly record: E
}

export interface Operations {
  readonly contract: Contract
  readonly reads: readonly Operation<ReadEndpoint>[]
  readonly writes: readonly Operation<WriteEndpoint>[]
  /** The tool for the reads of each section. */
  readonly sections: ReadonlyMap<string, readonly Operation<ReadEndpoint>[]>
}

/** The values of one call of a tool. */
export interface Arguments {
  readonly parameters: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export interface EdgeCall {
  readonly method: Endpoint['method']
  /** Path and query. */
  readonly path: string
  readonly contentType?: string
  readonly body?: string
}

/** A mistake in the arguments of a tool. Its message is for the assistant. */
export class ArgumentError extends Error {}

/** Operations of the edge that deal with tokens, or return a whole description. */
const NOT_OFFERED = ['issueToken', 'revokeTokens', 'logIn', 'logOut', 'describeApi', 'describeV4Api']

/** An operation whose response may have a secret is not offered, because assistants keep and pass on what they read. */
function isOffered({ target, secret, path }: Endpoint): boolean {
  const isOfTokens = target.kind === 'edge' && NOT_OFFERED.includes(target.operation)
  return !isOfTokens && secret === 'none' && !path.startsWith('/security/user/authenticate')
}

export function offeredOperations(contract: Contract): Operations {
  const offered = bothContracts.filter((record) => record.contract === contract && isOffered(record))
  const operationOf = <E extends Endpoint>(record: E): Operation<E> => ({ id: operationId(record), record })
  const reads = offered.filter((record): record is ReadEndpoint => record.method === 'GET').map(operationOf)
  const writes = offered.filter((record): record is WriteEndpoint => record.method !== 'GET').map(operationOf)
  const sections = new Map<string, Operation<ReadEndpoint>[]>()
  for (const read of reads) {
    const tool = toolOf(sectionOf(read.record))
    sections.set(tool, [...(sections.get(tool) ?? []), read])
  }
  return { contract, reads, writes, sections }
}

/** `Rootcheck, syscheck, SCA` → `read_rootcheck_syscheck_sca`. */
function toolOf(section: string): string {
  return `read_${section
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join('_')}`
}

export function findOperation<E extends Endpoint>(operations: readonly Operation<E>[], id: unknown): Operation<E> {
  const found = operations.find((each) => each.id === id)
  if (found !== undefined) return found
  throw new ArgumentError(
    `operation is no operation of this tool${suggest(
      String(id),
      operations.map((one) => one.id),
    )}`,
  )
}

/** Returns the parameters of the path and the query of a record. */
export function parametersOf({ params, query }: Endpoint): Readonly<Record<string, Param>> {
  return { ...params, ...query }
}

/** Returns the request of an operation. Throws for names that it does not have and for values that no path may contain. */
export function callOf({ record }: Operation, { parameters, body }: Arguments): EdgeCall {
  const described = parametersOf(record)
  const known = Object.keys(described)
  for (const name of Object.keys(parameters))
    if (!Object.hasOwn(described, name))
      throw new ArgumentError(`no parameter ${JSON.stringify(name.slice(0, 64))}${suggest(name, known)}`)
  const missing = known.find((name) => isMandatory(record, name) && parameters[name] === undefined)
  if (missing !== undefined) throw new ArgumentError(`the parameter ${missing} is missing`)
  const path = record.path.replaceAll(/:(\w+)/g, (_all, name: string) =>
    segmentOf(name, textOf(name, parameters[name])),
  )
  const query = Object.fromEntries(
    Object.keys(record.query).flatMap((name) => {
      const value = parameters[name]
      return value === undefined ? [] : [[name, textOf(name, value)]]
    }),
  )
  if (asksForSecret(record, query)) throw new ArgumentError(withheld(record))
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return {
    method: record.method,
    path: [path, ...(pairs.length > 0 ? [pairs.join('&')] : [])].join('?'),
    ...bodyOf(record, body),
  }
}

export function isMandatory({ params, query }: Endpoint, name: string): boolean {
  return Object.hasOwn(params, name) || query[name]?.required !== undefined
}

function textOf(name: string, value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map((one) => textOf(name, one)).join(',')
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return String(value)
  throw new ArgumentError(`the parameter ${name} must be a text, a number, true or false, or a list of these`)
}

function withheld({ allFieldsWithout }: Endpoint): string {
  const named = allFieldsWithout === undefined ? '' : `. The parameter ${allFieldsWithout} must name others`
  return `the response may contain a field that is a secret, which assistants do not get${named}`
}

/** A segment such as `..` would lead to the path of another operation. */
function segmentOf(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new ArgumentError(`the parameter ${name} must be a name or an id`)
  return encodeURIComponent(value)
}

function bodyOf(record: Endpoint, body: unknown): Pick<EdgeCall, 'contentType' | 'body'> {
  const described = 'body' in record ? record.body : undefined
  if (body === undefined) return {}
  const [contentType] = described?.types ?? []
  if (described === undefined || contentType === undefined) throw new ArgumentError('this operation takes no body')
  if (described.kind === 'upload') {
    if (typeof body !== 'string') throw new ArgumentError('the body must be the contents of the file, as a text')
    return {
      contentType:
        described.types.includes('application/octet-stream') && !/^\s*</.test(body)
          ? 'application/octet-stream'
          : contentType,
      body,
    }
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ArgumentError('the body must be an object')
  for (const name of Object.keys(body))
    if (!described.open && !Object.hasOwn(described.fields, name))
      throw new ArgumentError(
        `no field ${JSON.stringify(name.slice(0, 64))} in the body${suggest(name, Object.keys(described.fields))}`,
      )
  return { contentType: 'application/json', body: JSON.stringify(body) }
}

function suggest(word: string, known: readonly string[]): string {
  const similar = findSimilar(word.slice(0, 64), known)
  return similar === undefined ? `; known: ${known.join(', ') || 'none'}` : `. Did you mean "${similar}"?`
}
