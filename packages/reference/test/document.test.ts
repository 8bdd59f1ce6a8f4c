import { readFileSync } from 'node:fs'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { kinds } from '../../../src/contracts/schemas/kinds.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'
import { recordOf } from '../../../test/contract/record-of.ts'
import { faultsOf } from '../../../test/contract/responses/validator.ts'
import { OPERATION_IDS, operationIds, withNewOperations } from '../../../test/support/documents/operation-ids.ts'
import { startEdge } from '../../../test/support/edge.ts'
import { startSimulator } from '../../simulator/src/index.ts'
import { openApiDocument } from '../src/document.ts'
import { exampleOf } from '../src/example.ts'
import examples from '../src/examples.json' with { type: 'json' }
import managerErrors from '../src/manager-errors.json' with { type: 'json' }
import { pathTemplates } from '../src/parameters.ts'
import { lintDocument } from './lint.ts'

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
}
interface Operation {
  readonly operationId: string
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { schema: Record<string, unknown> }>
  }
  readonly responses: Readonly<Record<string, unknown>>
  readonly [extension: `x-${string}`]: unknown
}
interface Document {
  readonly info: { readonly description: string }
  readonly 'x-errors': unknown
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const text = JSON.stringify(openApiDocument(catalogue, { version: '1.2.3', server: 'https://edge.example:55000' }))
const document = JSON.parse(text) as Document
const templateOf = pathTemplates(catalogue)
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

function exampleIn(response: unknown): unknown {
  const { content } = response as { readonly content: Readonly<Record<string, { readonly example?: unknown }>> }
  return content['application/json']?.example
}

t.test('the document has no error under the recommended rules of redocly', (t) => lintDocument(t, text))

t.test('each endpoint appears once, with a unique operationId', async (t) => {
  t.equal(operations.length, catalogue.length)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, catalogue.length)
  for (const { method, path } of catalogue) {
    const shape = (path: string) => path.replace(':node_ids', '*').replace(/:[^/]+|\{[^}]+\}/g, '{}')
    const found = Object.keys(document.paths).filter((known) => shape(known) === shape(path))
    t.equal(found.length, 1, path)
    const operation = document.paths[found[0] ?? '']?.[method.toLowerCase()]
    t.ok(operation, `${method} ${path}`)
    const names = (found[0]?.match(/\{[^}]+\}/g) ?? []).map((name) => name.slice(1, -1))
    const inPath = operation?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
    t.same(inPath, names, 'the parameters of the path')
  }
})

t.test('operation ids stay the same, since generated clients call functions with these names', async (t) => {
  const pinned = readFileSync(OPERATION_IDS, 'utf8').trim().split('\n')
  t.same(operationIds(), pinned, `${OPERATION_IDS}: "npm run docs:reference" adds new operations`)
  const [first = '', ...others] = pinned
  const changed = `${first}Changed`
  t.same(
    withNewOperations([changed, ...others.slice(1)], pinned),
    [changed, ...others].sort(),
    'it changes no other line',
  )
})

t.test('each operation has an example response, which has its schema and no secret', async (t) => {
  const examples = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId, responses }) => [operationId, exampleIn(responses['200'])] as const),
  )
  for (const endpoint of catalogue.filter(({ response }) => response.data !== 'document')) {
    const template = templateOf(endpoint).path
    const example = exampleIn(document.paths[template]?.[endpoint.method.toLowerCase()]?.responses['200'])
    if (example === undefined) {
      t.fail(`packages/reference/src/examples.json has no ${endpoint.method} ${endpoint.path}`)
      continue
    }
    const answer = {
      endpoint,
      url: endpoint.path,
      status: 200,
      type: 'application/json',
      text: JSON.stringify(example),
    }
    t.same(faultsOf(answer), [], `${endpoint.method} ${endpoint.path}`)
  }
  const all = JSON.stringify(examples)
  t.notMatch(all, /"(?:key|internal_key|token)":"(?!<|audit|alert)[^"]{20,}"/, 'placeholders for keys and tokens')
  t.notMatch(all, /\b(?:10\.\d+|172\.(?:1[6-9]|2\d|3[01])|192\.168)\.\d+\.\d+\b/, 'addresses for documents (RFC 5737)')
})

t.test('each operation lists the codes of its errors', async (t) => {
  const agent = document.paths['/agents/{agent_id}']?.get
  t.match(agent?.['x-error-codes'], { 200: [1000], 400: [600], '5XX': [911] })
  const codes = agent?.['x-error-codes'] as Record<string, number[]> | undefined
  t.ok(codes?.['200']?.includes(1701))
  t.match(agent?.responses['200'], { description: /1701 agent does not exist/ })
  t.match(agent?.responses['400'], { description: /Error codes: 600, 604/ })
  const insert = document.paths['/agents/insert']?.post?.['x-error-codes'] as Record<string, number[]>
  t.ok(insert['200']?.includes(1709), 'a key that is too short')
  t.ok(insert['400']?.includes(615), 'a bad character in the key')
  t.ok(insert['5XX']?.includes(934), 'another write in progress')
  t.notOk(Object.hasOwn(document.paths['/cache']?.get?.['x-error-codes'] as object, '200'))
})

t.test('each failure of the edge is listed by an operation, but those of the console and of drains', async (t) => {
  const codesOf = ({ 'x-error-codes': codes }: Operation) => (codes as Record<string, number[]>)['5XX'] ?? []
  const listed = [...new Set(operations.flatMap(codesOf))]
  const failures = Object.entries<ErrorDefinition>(errorTable).filter(([, { status }]) => status >= 500)
  const codes = failures.map(([code]) => Number(code))
  t.strictSame([...listed, 913, 941].sort(), codes)
})

t.test('the data files name codes that have a meaning, and endpoints and parameters that exist', async (t) => {
  const known = new Set(
    catalogue.flatMap(({ method, path, target }) =>
      target.kind === 'severalNodes' ? [`${method} ${path}`, `${method} ${target.ofNode}`] : [`${method} ${path}`],
    ),
  )
  const { meanings, ofNodes, byEndpoint, byParameter } = managerErrors
  const codes = [...ofNodes, ...Object.values(byEndpoint).flat(), ...Object.values(byParameter).flat()]
  t.strictSame(
    codes.filter((code) => !Object.hasOwn(meanings, code)),
    [],
  )
  t.strictSame(
    [...Object.keys(byEndpoint), ...Object.keys(examples)].filter((endpoint) => !known.has(endpoint)),
    [],
  )
  const names = catalogue.flatMap(({ params, query }) => [
    ...Object.keys(params).map((name) => `:${name}`),
    ...Object.keys(query),
  ])
  t.strictSame(
    Object.keys(byParameter).filter((name) => !names.includes(name)),
    [],
  )
})

t.test('parameters have the type, pattern and limits of the record', async (t) => {
  const agents = document.paths['/agents']?.get
  const schema = (name: string) => agents?.parameters.find((parameter) => parameter.name === name)?.schema
  t.same(schema('limit'), { type: 'integer', minimum: 1, maximum: 1000, default: 500 })
  t.match(schema('name'), {
    type: 'string',
    pattern: kinds.alphanumeric.pattern,
    maxLength: kinds.alphanumeric.maxLength,
  })
  t.match(schema('status'), { examples: ['active', 'pending', 'neverconnected', 'disconnected', 'all'] })
  t.match(document.paths['/agents/{agent_id}']?.get?.parameters[0], {
    name: 'agent_id',
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: kinds.numbers.pattern, maxLength: kinds.numbers.maxLength },
  })
  t.match(document.paths['/agents/{agent_id}']?.put?.parameters[0], { name: 'agent_id', 'x-name': 'agent_name' })
  for (const { parameters } of operations) {
    t.ok(parameters.some(({ $ref }) => $ref === '#/components/parameters/pretty'))
  }
})

t.test('bodies, responses, permissions, targets and cache policies come from the records', async (t) => {
  const post = document.paths['/agents']?.post
  t.match(post?.requestBody, { required: true })
  t.same(Object.keys(post?.requestBody?.content ?? {}), ['application/json', 'application/x-www-form-urlencoded'])
  t.match(post?.requestBody?.content['application/json']?.schema, {
    required: ['name'],
    additionalProperties: false,
    properties: { name: { type: 'string', pattern: kinds.names.pattern } },
  })
  t.match(post, { 'x-permission': 'agents:write', 'x-secret': 'always', 'x-target': { kind: 'master' } })
  t.match(document.paths['/agents']?.get, { 'x-cache-group': 'agents', 'x-cache': { group: 'agents', tags: Array } })
  t.match(document.paths['/agents/{agent_id}/key']?.get, { 'x-cache': { never: 'an agent key' } })
  t.match(post, { 'x-invalidates': Array })
  t.same(Object.keys(document.paths['/manager/files']?.post?.requestBody?.content ?? {}), [
    'application/xml',
    'application/octet-stream',
  ])
  t.match(document.paths['/rules/files']?.get?.responses['200'], { content: { 'text/xml': {} } })
  const several = document.paths['/cluster/*/logs']?.get
  t.match(several, {
    'x-target': { kind: 'severalNodes', ofNode: '/cluster/:node_id/logs' },
    description: /In place of \* in the path: names of nodes, separated by commas, or \* for all\./,
    responses: { 200: { headers: { 'Cluster-Status': {} } } },
  })
  t.notOk(several?.parameters.some((parameter) => parameter.in === 'path'))
  t.notMatch(document.paths['/agents']?.get?.responses['200'], { headers: {} })
  for (const { responses } of operations) {
    const statuses = Object.keys(responses).filter((status) => status !== '202')
    t.same(statuses, ['200', '400', '401', '403', '429', '4XX', '5XX'])
  }
})

t.test('no tool invents a request: bodies and parameters of paths have the values of the examples', async (t) => {
  const body = document.paths['/agents']?.post?.requestBody?.content['application/json']
  t.match(body, { example: { name: 'web-1' } })
  t.match(document.paths['/manager/files']?.post?.requestBody?.content['application/xml'], { example: String })
  for (const { operationId, requestBody, parameters } of operations) {
    for (const content of Object.values(requestBody?.content ?? {})) t.match(content, { example: /./ }, operationId)
    for (const each of parameters.filter((one) => one.in === 'path')) {
      t.match(each, { example: /./ }, operationId)
      const { pattern = '' } = each.schema as { pattern?: string }
      t.match(String((each as { example?: unknown }).example), new RegExp(pattern), `${operationId} ${each.name}`)
    }
  }
})

t.test('the document at an edge names the port for clients, not that of operators', async (t) => {
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
    settings: { listen: { hosts: ['edge.example.org', '127.0.0.1'] } },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('operator') }
  const served = (await (await fetch(`${edge.operationsUrl}/openapi.json`, { headers })).json()) as object
  t.match(served, { servers: [{ url: 'http://{host}:0', variables: { host: { default: 'edge.example.org' } } }] })
})

t.test('each description states permission, target, cache policy and an example', async (t) => {
  for (const { operationId, description, ...operation } of operations) {
    const permission = operation['x-permission']
    t.match(
      description,
      permission === 'signedIn' ? '**Permission:** any signed-in user' : `**Permission:** \`${permission}\``,
    )
    t.match(description, /\*\*Target:\*\* \S/, operationId)
    t.match(description, /\*\*(?:Cache|Invalidates):\*\* \S/, operationId)
    t.match(description, 'curl -u "$EDGE_USER"', operationId)
  }
  t.match(
    document.paths['/agents/{agent_id}/key']?.get?.description,
    /`agents:\w+` and `secrets:read`, since the response holds a secret/,
  )
})

t.test('the document lists each error with status, message and remedy', async (t) => {
  t.strictSame(document['x-errors'], JSON.parse(JSON.stringify(errorTable)))
  for (const [code, { remedy }] of Object.entries(errorTable)) {
    t.match(document.info.description, `| ${code} |`)
    t.match(document.info.description, `| ${remedy.replaceAll('|', '&#124;')} |`)
  }
})

t.test('the edge accepts the example of each endpoint, and its response has the schema', async (t) => {
  const simulator = await startSimulator({ agents: 10, workers: 1, password: 'only-for-tests', username: 'edge' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: { access: { limits: { requestsPerSecond: 100_000 } } },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  for (const endpoint of catalogue.filter(({ method }) => method === 'GET')) {
    const response = await fetch(edge.url + exampleOf(endpoint).url, { headers })
    const text = await response.text()
    t.equal(response.status, 200, `${endpoint.path} ${response.status === 200 ? '' : text}`)
    const type = response.headers.get('content-type') ?? ''
    const url = exampleOf(endpoint).url
    t.equal(recordOf({ method: 'GET', path: url }), endpoint)
    t.same(faultsOf({ endpoint, url, status: response.status, type, text }), [], url)
  }
  for (const endpoint of catalogue) {
    const { body } = exampleOf(endpoint)
    if (body === undefined || !('body' in endpoint) || endpoint.body?.kind !== 'fields') continue
    for (const [name, value] of Object.entries<unknown>(JSON.parse(body))) {
      const kind = endpoint.body.fields[name]?.kind
      const { pattern = '' } = kind === undefined ? {} : (kinds[kind] as { pattern?: string })
      for (const text of [value].flat()) t.match(String(text), new RegExp(pattern), `${endpoint.path} ${name}`)
    }
  }
})
