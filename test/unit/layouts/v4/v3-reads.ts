/** Random reads of v3 clients: valid parameters of any record, with values that a cluster has and that it lacks. */
import fc from 'fast-check'
import { type Source, sources } from '../../../../src/collections/sources.ts'
import type { Param, V3Endpoint } from '../../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { isInRelease } from '../../../../src/core/node-call.ts'

const word = fc.constantFrom('a', 'web', 'Debian 12', 'x_1', '5.2-1')
const byKind: Readonly<Partial<Record<Param['kind'], fc.Arbitrary<string>>>> = {
  numbers: fc.nat({ max: 999 }).map(String),
  array_numbers: fc.constantFrom('001', '001,002', '7'),
  names: fc.constantFrom('default', 'web-1', 'md5'),
  array_names: fc.constantFrom('default', 'default,web-1'),
  alphanumeric: word,
  paths: fc.constantFrom('etc/rules', 'ruleset/rules', '/etc/passwd'),
  dates: fc.constantFrom('20200131', '20261122'),
  ips: fc.constantFrom('10.0.0.1', 'any'),
  timeframe: fc.constantFrom('7d', '30', '12h'),
  ranges: fc.constantFrom('3', '2-5'),
  hashes: fc.constant('d41d8cd98f00b204e9800998ecf8427e'),
  yes_no: fc.constantFrom('yes', 'no'),
  boolean: fc.constantFrom('true', 'false'),
  empty_boolean: fc.constantFrom('', 'true', 'false'),
  flag: fc.constant(''),
  format: fc.constantFrom('xml', 'json'),
  search: fc.constantFrom('web', '!web', '-x', 'a b', '"quoted"', 'é'),
}

const path: Readonly<Record<string, fc.Arbitrary<string>>> = {
  agent_id: fc.constantFrom('000', '001', '002', '017', '999'),
  group_id: fc.constantFrom('default', 'nope'),
  node_id: fc.constantFrom('master', 'worker-1', 'nope'),
  node_name: fc.constantFrom('master', 'nope'),
  agent_name: fc.constantFrom('web', 'nope'),
  component: fc.constantFrom('agent', 'analysis', 'nope'),
  configuration: fc.constantFrom('client', 'global', 'nope'),
  filename: fc.constantFrom('agent.conf', 'merged.mg', 'nope'),
  rule_id: fc.constantFrom('1', '5710', '999999'),
  decoder_name: fc.constantFrom('sshd', 'nope'),
  policy_id: fc.constantFrom('cis_debian9_L1', 'nope'),
}

const files = fc.constantFrom(
  'etc/ossec.conf',
  'etc/rules/local_rules.xml',
  'etc/decoders/local_decoder.xml',
  'etc/lists/audit-keys',
)

/** Some parameters of the record, each with a valid value. */
function queryOf(endpoint: V3Endpoint): fc.Arbitrary<Partial<Record<string, string>>> {
  const fields = fieldsOf(endpoint)
  const some = Object.entries(endpoint.query).flatMap(([name, param]) => {
    const value = arbitraryOf(endpoint, name, param, fields)
    return param.edgeOnly || value === undefined ? [] : [[name, value] as const]
  })
  const requiredKeys = Object.entries(endpoint.query).flatMap(([name, { required }]) => (required ? [name] : []))
  return fc.record(Object.fromEntries(some), { requiredKeys })
}

function arbitraryOf(endpoint: V3Endpoint, name: string, param: Param, fields: readonly string[]) {
  const field = fields.length === 0 ? undefined : fc.constantFrom(...fields)
  if (name === 'limit') return fc.integer({ min: 1, max: 1000 }).map(String)
  if (name === 'path' && endpoint.path.endsWith('/files') && param.required) return files
  switch (param.kind) {
    case 'sort':
      return field && fc.tuple(fc.constantFrom('', '+', '-'), field).map((parts) => parts.join(''))
    case 'select':
      return field && fc.uniqueArray(field, { minLength: 1, maxLength: 3 }).map((names) => names.join(','))
    case 'query':
      return (
        field &&
        fc.tuple(field, fc.constantFrom('=', '!=', '<', '~'), fc.constantFrom('1', 'x')).map((parts) => parts.join(''))
      )
    default:
      return param.allowed ? fc.constantFrom(...param.allowed) : byKind[param.kind]
  }
}

function fieldsOf({ translation }: V3Endpoint): readonly string[] {
  const response = translation?.response
  const name = response !== undefined && 'rows' in response ? response.rows?.source : undefined
  const source: Source | undefined = name === undefined ? undefined : (sources as Record<string, Source>)[name]
  if (source === undefined) return []
  return source.engine === 'database' ? Object.keys(source.fields) : (source.sortable ?? [])
}

export interface V3Read {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

/** The records of reads that nodes answer since the first release of the v4 layout. */
export const reads: readonly V3Endpoint[] = catalogue.filter(
  ({ method, translation: v4 }) => method === 'GET' && v4 !== undefined && isInRelease(v4.releases, '4.0'),
)

export function anyRead(endpoint: V3Endpoint): fc.Arbitrary<V3Read> {
  const params = Object.keys(endpoint.params).map((name) => [name, path[name] ?? word] as const)
  return fc.record({
    params: fc.record(Object.fromEntries(params)),
    query: queryOf(endpoint) as fc.Arbitrary<Record<string, string>>,
  })
}
