/** The contract and the catalogue as flat facts of one form, place → value, so that a test can compare them. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { sectionOf } from '../../packages/reference/src/section.ts'
import type { Field, Param, V3Endpoint } from '../../src/contracts/endpoint.ts'
import { kinds, type ValueKind } from '../../src/contracts/schemas/kinds.ts'

export type Facts = Map<string, string>

export interface ContractParam {
  readonly name: string
  readonly validator: string
  readonly default?: unknown
  readonly allowed?: readonly unknown[]
  readonly beyond_seed?: boolean
  readonly note?: string
}

export interface ContractEndpoint {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly seed_section: string
  readonly path_params?: readonly ContractParam[]
  readonly query_params?: readonly ContractParam[]
  readonly body?: {
    readonly content_types: readonly string[]
    readonly params: readonly { readonly name: string; readonly type: string; readonly constraint: string }[]
    readonly unknown_fields?: string
  }
  readonly returns_seed: string
  readonly conditions?: readonly string[]
  readonly unknown_query_rejected: boolean
  readonly routing: string
  readonly per_agent: boolean
  readonly mutates: boolean
  readonly secret_in_response: string
  readonly disagreements?: readonly string[]
}

export interface Contract {
  readonly meta: {
    readonly validators: Readonly<Record<string, { readonly pattern: string; readonly error: number | string | null }>>
    readonly seed_wide_disagreements: readonly string[]
    readonly counts: { readonly endpoints: number }
  }
  readonly endpoints: readonly ContractEndpoint[]
  readonly beyond_seed: readonly {
    readonly method: string
    readonly path: string
    readonly query?: readonly string[]
  }[]
}

export const contract = parse(readFileSync(new URL('data/endpoints.yaml', import.meta.url), 'utf8')) as Contract

export function idOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`
}

const optional = (word: string, value: unknown) => (value === undefined ? '' : ` ${word} ${String(value)}`)

/** Returns the facts of one endpoint of the contract. */
export function contractFacts(endpoint: ContractEndpoint): Facts {
  const { id } = endpoint
  const facts: Facts = new Map([
    [`${id} section`, endpoint.seed_section],
    [`${id} unknown query`, endpoint.unknown_query_rejected ? 'refused' : 'ignored'],
    [
      `${id} secret`,
      /^(agent_key|cluster_key|possible|none)/.exec(endpoint.secret_in_response)?.[1]?.replace(/.*_key/, 'always') ??
        '?',
    ],
    [`${id} target`, contractTarget(endpoint)],
  ])
  for (const param of endpoint.path_params ?? []) facts.set(`${id} :${param.name}`, param.validator.replace(/ .*/, ''))
  for (const param of endpoint.query_params ?? []) facts.set(`${id} ?${param.name}`, contractParam(param))
  const upload = endpoint.body?.params.some(({ name }) => name === '(raw body)')
  if (endpoint.body) facts.set(`${id} body`, `${upload ? 'upload' : 'fields'} ${endpoint.body.content_types.join(' ')}`)
  for (const { name, type, constraint } of upload ? [] : (endpoint.body?.params ?? [])) {
    facts.set(`${id} body.${name}`, `${fieldTypes[type]}${constraint.startsWith('mandatory') ? ' mandatory 604' : ''}`)
  }
  return facts
}

const fieldTypes: Readonly<Record<string, string>> = {
  String: 'string',
  Number: 'integer',
  Boolean: 'boolean',
  'String[]': 'strings',
}

function contractParam({ validator, note, ...param }: ContractParam): string {
  const mandatory = /^mandatory \((604|706)\)/.exec(note ?? '')?.[1]
  return (
    validator +
    optional('default', param.default) +
    optional('allowed', param.allowed?.join(',')) +
    optional('mandatory', mandatory) +
    (param.beyond_seed ? ' beyond the seed' : '')
  )
}

/** Returns the target of the edge for the routing that the contract describes. */
function contractTarget({ routing, path, method, per_agent, mutates }: ContractEndpoint): string {
  if (routing.startsWith('api_process')) return 'edge'
  if (routing === 'local_master') return 'master through any'
  if (routing === 'local_any') {
    if (path.startsWith('/manager/')) return 'master through twin'
    return path.startsWith('/cluster/') ? 'master through none' : 'anyNode'
  }
  if (path.startsWith('/cluster/:node_id/')) return `node as ${path.replace('/cluster/:node_id/', '/manager/')}`
  if (per_agent) return path.includes(':agent_id') ? 'agentOwner' : 'agentOwners of body'
  return `everyNode, ${method === 'GET' && !mutates && path.startsWith('/experimental/') ? 'label' : 'fail'}`
}

/** Returns the facts of a record, in the form of `contractFacts`. */
export function recordFacts(endpoint: V3Endpoint): Facts {
  const id = idOf(endpoint)
  const facts: Facts = new Map([
    [`${id} section`, sectionOf(endpoint)],
    [`${id} unknown query`, endpoint.strictQuery ? 'refused' : 'ignored'],
    [`${id} secret`, endpoint.allFieldsWithout === undefined ? endpoint.secret : 'possible'],
    [`${id} target`, recordTarget(endpoint)],
  ])
  for (const [name, param] of Object.entries(endpoint.params)) facts.set(`${id} :${name}`, param.kind)
  for (const [name, param] of Object.entries(endpoint.query)) facts.set(`${id} ?${name}`, recordParam(param))
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body) facts.set(`${id} body`, `${body.kind} ${body.types.join(' ')}`)
  for (const [name, field] of Object.entries(body?.kind === 'fields' ? body.fields : {})) {
    facts.set(`${id} body.${name}`, recordField(field))
  }
  return facts
}

function recordParam(param: Param): string {
  return (
    param.kind +
    optional('default', param.default) +
    optional('allowed', param.allowed?.join(',')) +
    optional('mandatory', param.required) +
    (param.beyondSeed ? ' beyond the seed' : '')
  )
}

function recordField(field: Field): string {
  return field.type + optional('mandatory', field.required)
}

function recordTarget({ target, response }: V3Endpoint): string {
  switch (target.kind) {
    case 'master':
      return `master through ${target.through}`
    case 'node':
      return `node as ${target.twin}`
    case 'agentOwners':
      return `agentOwners of ${target.ids}`
    case 'everyNode':
      return `everyNode, ${response.data === 'collection' ? 'label' : 'fail'}`
    default:
      return target.kind
  }
}

/** Returns the patterns of both. For a kind that is stricter than in the real API, the pattern of the real API counts. */
export function validatorFacts(): { readonly ours: Facts; readonly theirs: Facts } {
  const ours: Facts = new Map()
  const theirs: Facts = new Map()
  for (const [name, { pattern, error }] of Object.entries(contract.meta.validators)) {
    theirs.set(`validator ${name}`, `${pattern} → ${error}`)
  }
  for (const [name, kind] of Object.entries<ValueKind>(kinds)) {
    // Of the v4 contract, which describes its values itself.
    if (name === 'described') continue
    ours.set(`validator ${name}`, `${kind.wider ?? kind.pattern ?? kind.grammar ?? 'presence'} → ${kind.code}`)
  }
  return { ours, theirs }
}

export interface Difference {
  readonly where: string
  readonly theirs: string | undefined
  readonly ours: string | undefined
}

export function differences(theirs: Facts, ours: Facts): Difference[] {
  const places = [...new Set([...theirs.keys(), ...ours.keys()])]
  return places
    .map((where) => ({ where, theirs: theirs.get(where), ours: ours.get(where) }))
    .filter((one) => one.theirs !== one.ours)
}

export function joined(all: readonly Facts[]): Facts {
  return new Map(all.flatMap((facts) => [...facts]))
}
