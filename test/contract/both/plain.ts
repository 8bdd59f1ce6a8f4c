/** The plain request for an endpoint, and its URL with other parameters. */
import { bodies, pathsOf, pathValues, sampleOf, UPLOAD } from '../../support/sample-values.ts'
import type { ContractEndpoint } from '../facts.ts'
import { UNKNOWN } from './values.ts'

/** What a client sends, and the error that it must get, without a call to a node. */
export interface ContractRequest {
  readonly endpoint: ContractEndpoint
  /** The part of the request that differs from the plain one. */
  readonly what: string
  readonly url: string
  readonly body?: { readonly type: string; readonly text: string }
  /** The code of the error of an illegal request. Absent: a legal request. */
  readonly error?: number
}

/** Makes a request that differs from the plain one in its URL or body. */
export type Make = (what: string, url: string, rest?: Partial<ContractRequest>) => ContractRequest

type Values = Readonly<Record<string, string>>
type Body = NonNullable<ContractRequest['body']>

export const XML = 'application/xml'
export const JSON_TYPE = 'application/json'

/** Returns the request with nothing but what is mandatory. */
export function plain(endpoint: ContractEndpoint): ContractRequest {
  return { endpoint, what: 'plain', url: urlOf(endpoint), ...bodyOf(endpoint) }
}

const AGENT = { agent_name: 'app-001' }
const FILES = { node_id: 'master' }
/** An agent of the simulated cluster. Files of the ruleset are those of the master in both layouts. */
const ownPaths: Readonly<Record<string, Values>> = {
  'GET /agents/name/:agent_name': AGENT,
  'GET /cluster/:node_id/files': FILES,
  'POST /cluster/:node_id/files': FILES,
  'DELETE /cluster/:node_id/files': FILES,
}

/** Returns the URL with the mandatory parameters and the given ones. `undefined` removes a parameter. */
export function urlOf(
  endpoint: ContractEndpoint,
  query: Readonly<Record<string, string | undefined>> = {},
  inPath: Values = {},
) {
  const { id, path, query_params = [] } = endpoint
  const filled = path.replaceAll(/:([a-z_]+)/g, (_all, name: string) =>
    encodeURIComponent(inPath[name] ?? ownPaths[id]?.[name] ?? pathsOf[id]?.[name] ?? pathValues[name] ?? UNKNOWN),
  )
  const mandatory = query_params
    .filter(({ name, note }) => mandatoryCode(note) !== undefined || name === alternativesOf(endpoint)?.names[0])
    .map(({ name, validator }): [string, string] => [name, sampleOf(name, validator)])
  const parameters = Object.entries({ ...Object.fromEntries(mandatory), ...query }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  )
  return parameters.length === 0 ? filled : `${filled}?${parameters.join('&')}`
}

/** Returns the code of the error without a mandatory parameter. */
export function mandatoryCode(note: string | undefined): number | undefined {
  const [, code] = /^mandatory \((604|706|1307)\)/.exec(note ?? '') ?? []
  return code === undefined ? undefined : Number(code)
}

/** Returns the names of which at least one must be sent, and the code of the error without all of them. */
export function alternativesOf({ conditions = [] }: ContractEndpoint): { names: string[]; error: number } | undefined {
  const [, names, error] = /at least one of (.*) must be sent, else (\d+)/.exec(conditions.join('\n')) ?? []
  return names === undefined ? undefined : { names: names.split(', '), error: Number(error) }
}

/** A field of a configuration needs its section. */
export function companions(name: string): Values {
  return name === 'field' ? { section: 'global' } : {}
}

export function isUpload({ body }: ContractEndpoint): boolean {
  return body?.params.some(({ name }) => name === '(raw body)') === true
}

function bodyOf(endpoint: ContractEndpoint): { readonly body?: Body } {
  if (isUpload(endpoint)) return { body: { type: XML, text: UPLOAD } }
  const fields = bodies[endpoint.id]
  return fields === undefined ? {} : { body: { type: JSON_TYPE, text: JSON.stringify(fields) } }
}
