/** Compares responses with the contract, and those of both layouts with each other. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { ContractEndpoint } from '../facts.ts'
import type { Outcome } from './edge.ts'
import type { ContractRequest } from './plain.ts'

interface Errors {
  readonly api_layer: readonly { readonly code: number; readonly http: number }[]
  readonly framework: readonly { readonly code: number }[]
  readonly registration_daemon: readonly { readonly code: number }[]
}

const errors = parse(readFileSync(new URL('../data/errors.yaml', import.meta.url), 'utf8')) as Errors

/** The code that the release writes as a text has the status of its neighbours. */
const statusOf = new Map<number, number>([
  [0, 200],
  [623, 400],
  ...errors.api_layer.map(({ code, http }): [number, number] => [code, http]),
  ...[...errors.framework, ...errors.registration_daemon].map(({ code }): [number, number] => [code, 200]),
])

/** Error code, form and total of a response. */
export interface Facts {
  readonly status: number
  readonly error: number
  /** `collection`, `object`, `array`, `text` or `file`; `error` without data. */
  readonly form: string
  readonly total: number | undefined
}

/** Throws if the response is neither a file nor in the envelope of the contract. */
export function factsOf({ status, type, text }: Outcome): Facts {
  if (!type.startsWith('application/json')) return { status, error: 0, form: 'file', total: undefined }
  const { error, data, message, ...others } = JSON.parse(text) as Readonly<Record<string, unknown>>
  const isEnvelope = typeof error === 'number' && (error === 0 ? data !== undefined : typeof message === 'string')
  if (!isEnvelope || Object.keys(others).length > 0) throw new Error(`no envelope: ${text.slice(0, 200)}`)
  return { status, error, form: error === 0 ? formOf(data) : 'error', total: totalOf(data) }
}

function formOf(data: unknown): string {
  if (typeof data === 'string') return 'text'
  if (Array.isArray(data)) return 'array'
  return isCollection(data) ? 'collection' : 'object'
}

function isCollection(data: unknown): boolean {
  const { items, totalItems } = (data ?? {}) as Readonly<Record<string, unknown>>
  return Array.isArray(items) && typeof totalItems === 'number'
}

function totalOf(data: unknown): number | undefined {
  return isCollection(data) ? (data as { totalItems: number }).totalItems : undefined
}

/** Returns what is wrong with a response by the contract. */
export function faultsOf(request: ContractRequest, outcome: Outcome): string[] {
  const { endpoint, error: expected } = request
  const { status, error, form } = factsOf(outcome)
  const faults: string[] = []
  if (expected !== undefined) {
    if (error !== expected) faults.push(`error ${error}, not ${expected}`)
    if (outcome.calls.length > 0) faults.push(`forwarded: ${outcome.calls.join(', ')}`)
  }
  if (expected === undefined && isRefusal(error)) faults.push(`refused with ${error}`)
  if (status !== statusOf.get(error)) faults.push(`status ${status} with error ${error}`)
  if (error === 0 && !formsOf(endpoint).test(form)) faults.push(`${form}, not ${endpoint.returns_seed}`)
  if (outcome.calls.some((call) => call.includes('nosuch=1'))) faults.push('an unknown parameter was forwarded')
  if (request.what === 'plain' && !isOfEdge(endpoint) && outcome.calls.length === 0) faults.push('no call to a node')
  return faults.map((fault) => `${request.what} (${request.url}): ${fault}`)
}

/** An error of the checks before the manager's framework. 700: a file that is not found. */
function isRefusal(error: number): boolean {
  return error >= 600 && error < 999 && error !== 700
}

/** The response is made in the edge. */
function isOfEdge({ routing }: ContractEndpoint): boolean {
  return routing.startsWith('api_process')
}

/** The forms that data may have by the contract. */
function formsOf({ id, returns_seed }: ContractEndpoint): RegExp {
  // Counters, not an array: S16 of docs/contract-decisions.md.
  if (/\/stats\/(?:analysisd|remoted)$/.test(id)) return /^object$/
  // The text of the file, or the result of its validation.
  if (/^GET .*(?:manager|:node_id)\/files$/.test(id)) return /^(?:text|object)$/
  if (/^GET \/(?:rules|decoders)\/files$/.test(id)) return /^(?:collection|file)$/
  // A section that occurs several times is a list.
  if (id.endsWith('/configuration') && !id.includes('/groups/')) return /^(?:object|array)$/
  // The contents decide.
  if (returns_seed.startsWith('data is the file parsed')) return /./
  if (/^(?:COL|\{totalItems, items\})/.test(returns_seed)) return /^collection$/
  if (/^MSG|String$/.test(returns_seed)) return /^text$/
  if (returns_seed.startsWith('array')) return /^array$/
  return /^object$/
}

/** Returns both facts in one line if they differ. */
export function differenceOf(v3: Facts, v4: Facts): string | undefined {
  const [before, after] = [lineOf(v3), lineOf(v4)]
  if (before !== after) return `${before} → ${after}`
  return v3.total === v4.total ? undefined : 'another total'
}

function lineOf({ status, error, form }: Facts): string {
  return error === 0 ? form : `${status}/${error}`
}
