/** An example request for each endpoint, with values that its record accepts, and an example response. */

import type { Endpoint, Field, Param } from '../../catalogue/endpoint.ts'
import recorded from '../../catalogue/items/examples.json' with { type: 'json' }
import type { Kind } from '../../catalogue/schemas/kinds.ts'

export interface Example {
  readonly method: string
  /** Path and query as a client writes them. */
  readonly url: string
  readonly contentType?: string
  /** A JSON body. */
  readonly body?: string
  /** The name of the file to upload. */
  readonly file?: string
}

/** A test checks these values against the patterns of their kinds. */
const valueByKind: Readonly<Record<Kind, string>> = {
  numbers: '1',
  array_numbers: '001,002',
  names: 'default',
  array_names: 'web,database',
  node_names: '*',
  paths: 'etc/rules/local_rules.xml',
  dates: '20261121',
  ips: 'any',
  alphanumeric: 'active',
  sort: '-id',
  search: 'web',
  select: 'id,name',
  ranges: '2-5',
  hashes: 'd41d8cd98f00b204e9800998ecf8427e',
  key: 'a1b2c3d4',
  timeframe: '7d',
  empty_boolean: 'true',
  yes_no: 'yes',
  boolean: 'true',
  query: 'id>1',
  format: 'json',
  flag: '',
  command: '!restart.sh',
  url: '/agents?limit=5',
  tag: 'agent:001',
}

/** Parameters and fields that mean the same in every endpoint. */
const valueByName: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'web-1',
  name: 'web-1',
  group_id: 'default',
  filename: 'agent.conf',
  file_name: 'agent.conf',
  node_id: 'worker-1',
  node_name: 'worker-1',
  component: 'analysis',
  configuration: 'global',
  rule_id: '5710',
  decoder_name: 'sshd',
  policy_id: 'cis_debian',
  group: 'agents',
  wpk_repo: 'packages.wazuh.com/wpk/',
  file_path: '/var/ossec/var/upgrade/agent.wpk',
}

/** Parameters for which the value by name is not valid in this path. */
const valueByPath: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/agents/:agent_id/config/:component/:configuration': { component: 'agent', configuration: 'client' },
}

export function exampleOf(endpoint: Endpoint): Example {
  const { method, path } = endpoint
  const params: Readonly<Record<string, Param>> = endpoint.params
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(valueByPath[path]?.[name] ?? paramValue(name, params[name])),
  )
  const query = exampleQuery(endpoint).map(([name, param]) => `${name}=${encodeQueryValue(paramValue(name, param))}`)
  const url = [filled, ...(query.length > 0 ? [query.join('&')] : [])].join('?')
  return { method, url, ...exampleBody(endpoint) }
}

/** Returns a command for a shell, which reads the edge's address and the user from `EDGE` and `EDGE_USER`. */
export function curlOf(endpoint: Endpoint): string {
  const { method, url, contentType, body, file } = exampleOf(endpoint)
  return [
    'curl -u "$EDGE_USER"',
    ...(method === 'GET' ? [] : [`-X ${method}`]),
    ...(contentType ? [`-H 'Content-Type: ${contentType}'`] : []),
    ...(body ? [`-d '${body}'`] : []),
    ...(file ? [`--data-binary @${file}`] : []),
    `"$EDGE"'${url}'`,
  ].join(' ')
}

/** Required parameters and the first of `oneOf`; without these, the page size if the endpoint has pages. */
function exampleQuery({ query, oneOf }: Endpoint): [string, Param][] {
  const all = Object.entries(query)
  const needed = all.filter(([name, { required }]) => required !== undefined || name === oneOf?.[0])
  return needed.length > 0 ? needed : all.filter(([name]) => name === 'limit')
}

function paramValue(name: string, param: Param | undefined): string {
  if (name === 'limit') return '5'
  return valueByName[name] ?? (param === undefined ? 'x' : (param.allowed?.[0] ?? valueByKind[param.kind]))
}

/** Slashes and commas are valid in a query and easier to read unescaped. */
function encodeQueryValue(value: string): string {
  return encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%2C', ',')
}

function exampleBody(endpoint: Endpoint): Pick<Example, 'contentType' | 'body' | 'file'> {
  const body = 'body' in endpoint ? endpoint.body : undefined
  const [contentType] = body?.types ?? []
  if (body === undefined || contentType === undefined) return {}
  if (body.kind === 'upload') return { contentType, file: contentType === 'application/xml' ? 'file.xml' : 'list' }
  const all = Object.entries(body.fields)
  const required = all.filter(([, field]) => field.required !== undefined)
  const chosen = required.length > 0 ? required : all.slice(0, 1)
  const fields = Object.fromEntries(chosen.map(([name, field]) => [name, fieldValue(name, field)]))
  return { contentType, body: JSON.stringify(fields) }
}

function fieldValue(name: string, { type, kind, canonical }: Field): unknown {
  if (type === 'integer') return 1
  if (type === 'boolean') return true
  const text = canonical === undefined ? (valueByName[name] ?? valueByKind[kind ?? 'names']) : '001'
  if (name === 'key') return valueByKind.key.repeat(8)
  return type === 'strings' ? [text] : text
}

/**
 * `data` of a successful response by method and path, from the recorded exchanges, with fewer elements and placeholders for
 * secrets, hosts and addresses. `/cluster/:node_ids/…` has those of one node.
 */
const examples: Readonly<Record<string, unknown>> = recorded

/** Returns the body of a successful response; `undefined` if there is none. */
export function exampleResponse(endpoint: Endpoint): unknown {
  const { method, path, target, response } = endpoint
  if (target.kind !== 'severalNodes') return bodyOf(endpoint, examples[`${method} ${path}`])
  const data = examples[`${method} ${target.ofNode}`]
  if (data === undefined) return undefined
  const [first] = itemsOf(data)
  const rest = typeof first === 'object' ? first : { contents: first }
  return { error: 0, data: { items: [{ [response.adds ?? 'node_name']: 'worker-1', ...rest }], totalItems: 1 } }
}

function bodyOf({ response }: Endpoint, data: unknown): unknown {
  if (data === undefined || response.data === 'document') return data
  return { error: 0, data }
}

/** The items that the edge makes of the response of a node. */
function itemsOf(data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data
  const items = (data as { items?: readonly unknown[] }).items
  return items ?? [data]
}
