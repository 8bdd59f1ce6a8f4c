/** A first call of each endpoint, with values that its record takes. */
import type { Endpoint, Field, Param } from '../../catalogue/endpoint.ts'
import type { Kind } from '../../catalogue/schemas/kinds.ts'

export interface Example {
  readonly method: string
  /** Path and query as a client writes them. */
  readonly url: string
  readonly contentType?: string
  /** What is sent; of uploads only the name of a file. */
  readonly body?: string
  readonly file?: string
}

/** Values that every kind takes; a test holds them against the patterns. */
const byKind: Readonly<Record<Kind, string>> = {
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
}

/** Names that mean the same everywhere. */
const byName: Readonly<Record<string, string>> = {
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

/** Where what suits all others does not suit. */
const paths: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/agents/:agent_id/config/:component/:configuration': { component: 'agent', configuration: 'client' },
}

export function exampleOf(endpoint: Endpoint): Example {
  const { method, path } = endpoint
  const filled = path.replaceAll(/:(\w+)/g, (_all, name: string) => {
    const param = (endpoint.params as Readonly<Record<string, Param>>)[name]
    return encodeURIComponent(paths[path]?.[name] ?? sampleOf(name, param))
  })
  const query = shownIn(endpoint).map(([name, param]) => `${name}=${queryText(sampleOf(name, param))}`)
  const url = [filled, ...(query.length > 0 ? [query.join('&')] : [])].join('?')
  return { method, url, ...sent(endpoint) }
}

/** What is required, or one of what is required; else a page's size where there are pages. */
function shownIn({ query, oneOf }: Endpoint): [string, Param][] {
  const all = Object.entries(query)
  const needed = all.filter(([name, { required }]) => required !== undefined || name === oneOf?.[0])
  return needed.length > 0 ? needed : all.filter(([name]) => name === 'limit')
}

function sampleOf(name: string, param: Param | undefined): string {
  if (name === 'limit') return '5'
  return byName[name] ?? (param === undefined ? 'x' : (param.allowed?.[0] ?? byKind[param.kind]))
}

/** Slashes and commas need no escapes in a query, and are easier to read. */
function queryText(value: string): string {
  return encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%2C', ',')
}

function sent(endpoint: Endpoint): Pick<Example, 'contentType' | 'body' | 'file'> {
  const body = 'body' in endpoint ? endpoint.body : undefined
  const [contentType] = body?.types ?? []
  if (body === undefined || contentType === undefined) return {}
  if (body.kind === 'upload') return { contentType, file: contentType === 'application/xml' ? 'file.xml' : 'list' }
  const all = Object.entries(body.fields)
  const required = all.filter(([, field]) => field.required !== undefined)
  const shown = required.length > 0 ? required : all.slice(0, 1)
  const fields = Object.fromEntries(shown.map(([name, field]) => [name, fieldValue(name, field)]))
  return { contentType, body: JSON.stringify(fields) }
}

function fieldValue(name: string, { type, kind, canonical }: Field): unknown {
  if (type === 'integer') return 1
  if (type === 'boolean') return true
  const text = canonical === undefined ? (byName[name] ?? byKind[kind ?? 'names']) : '001'
  if (name === 'key') return byKind.key.repeat(8)
  return type === 'strings' ? [text] : text
}
