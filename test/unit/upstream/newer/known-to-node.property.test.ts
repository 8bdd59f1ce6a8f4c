/**
 * Whatever a client reads within the contract, the calls of the edge have paths, names and forms that a node of the newer
 * layout knows. The simulated node checks them with its own tables.
 */
import fc from 'fast-check'
import t from 'tap'
import { request as send } from 'undici'
import type { Endpoint, Param } from '../../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../../src/catalogue/index.ts'
import { EdgeError } from '../../../../src/core/errors.ts'
import type { CallNode } from '../../../../src/core/node-call.ts'
import { type Source, sources } from '../../../../src/query/sources.ts'
import { newer } from '../../../../src/upstream/dialects/newer/index.ts'
import { startNewer } from '../../simulator/newer/ask.ts'
import { edgeRequest } from '../edge-request.ts'

const RUNS_PER_ENDPOINT = 12

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
function queryOf(endpoint: Endpoint): fc.Arbitrary<Partial<Record<string, string>>> {
  const fields = fieldsOf(endpoint)
  const some = Object.entries(endpoint.query).flatMap(([name, param]) => {
    const value = arbitraryOf(endpoint, name, param, fields)
    return param.edgeOnly || value === undefined ? [] : [[name, value] as const]
  })
  const requiredKeys = Object.entries(endpoint.query).flatMap(([name, { required }]) => (required ? [name] : []))
  return fc.record(Object.fromEntries(some), { requiredKeys })
}

function arbitraryOf(endpoint: Endpoint, name: string, param: Param, fields: readonly string[]) {
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

function fieldsOf({ newer: translation }: Endpoint): readonly string[] {
  const response = translation?.response
  const name = response !== undefined && 'rows' in response ? response.rows?.source : undefined
  const source: Source | undefined = name === undefined ? undefined : (sources as Record<string, Source>)[name]
  if (source === undefined) return []
  return source.engine === 'database' ? Object.keys(source.fields) : (source.sortable ?? [])
}

const UNKNOWN = /^(?:Extra query|Missing query|Wrong type|Invalid field|404|405)|required property/

/** A text where the node wants a number is a value that no row has. */
const TEXT_FOR_NUMBER = /expected 'integer'/
const NO_ROWS = '{"error":0,"data":{"items":[],"totalItems":0}}'

t.test('a node knows everything that the edge asks', async (t) => {
  const { sim, logIn } = await startNewer(t, { agents: 20 })
  const url = sim.nodes.find(({ name }) => name === 'master')?.url ?? ''
  const token = await logIn()
  const faults: string[] = []
  const call: CallNode = async ({ node, method, path: target, body }) => {
    const response = await send(url + target, {
      method: method as 'GET',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': body.type }) },
      ...(body && { body: body.bytes }),
    })
    const bytes = Buffer.from(await response.body.arrayBuffer())
    const type = String(response.headers['content-type'] ?? '').replace(/;.*/, '')
    const { detail, error } = type.endsWith('problem+json') ? (JSON.parse(bytes.toString()) as Problem) : {}
    const isUnknown = error === undefined && UNKNOWN.test(detail ?? '')
    if (isUnknown || response.statusCode === 406) faults.push(`${method} ${target}: ${detail}`)
    return { ok: true, response: { node, status: response.statusCode, type, body: bytes } }
  }
  const tools = {
    call,
    timeout: 30_000,
    master: 'master',
    view: { nodes: () => sim.nodes.map(({ name, type }) => ({ name, type, addressed: true })) },
  }
  const reads = catalogue.filter(({ method, newer: translation }) => method === 'GET' && translation !== undefined)
  const answerTo = async (request: ReturnType<typeof edgeRequest>): Promise<string | undefined> => {
    try {
      const result = await newer.ask(request, { node: 'master', path: request.endpoint.path }, tools)
      if (!result.ok) throw new Error(result.detail)
      if (!result.translated.ok) throw new Error(result.translated.reason)
      const { response } = result.translated
      return response.kind === 'json' ? response.body.toString() : undefined
    } catch (error) {
      if (error instanceof EdgeError && error.code !== 949) return undefined
      throw error
    }
  }
  for (const endpoint of reads) {
    const parts = fc.record({
      params: fc.record(Object.fromEntries(Object.keys(endpoint.params).map((name) => [name, path[name] ?? word]))),
      query: queryOf(endpoint),
    })
    const asked = fc.asyncProperty(parts, async ({ params, query }) => {
      const request = edgeRequest('GET', endpoint.path, { params, query: query as Record<string, string> })
      const answered = await answerTo(request)
      const ignored = answered === NO_ROWS ? TEXT_FOR_NUMBER : undefined
      const left = faults.splice(0).filter((fault) => ignored?.test(fault) !== true)
      if (left.length > 0) throw new Error(left.join('\n'))
    })
    await t.resolves(fc.assert(asked, { numRuns: RUNS_PER_ENDPOINT }), endpoint.path)
  }
  t.ok(reads.length > 90, `${reads.length} endpoints`)
})

interface Problem {
  readonly detail?: string
  readonly error?: number
}
