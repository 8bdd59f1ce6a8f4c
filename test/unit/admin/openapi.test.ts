import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openApiDocument } from '../../../src/admin/openapi.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { kinds } from '../../../src/catalogue/schemas/kinds.ts'

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: Readonly<Record<string, unknown>>
}
interface Operation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Record<string, { schema: Record<string, unknown> }>
  }
  readonly responses: Readonly<Record<string, unknown>>
  readonly [extension: `x-${string}`]: unknown
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const text = JSON.stringify(openApiDocument(catalogue, { version: '1.2.3', server: 'https://edge.example:55000' }))
const document = JSON.parse(text) as Document
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

t.test('redocly finds no error by its recommended rules', async (t) => {
  const file = join(t.testdir(), 'openapi.json')
  writeFileSync(file, text)
  const lint = ['node_modules/@redocly/cli/bin/cli.js', 'lint', file, '--extends=recommended', '--format=json']
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  const run = promisify(execFile)(process.execPath, lint, { env, maxBuffer: 64 * 1024 * 1024 })
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  const { totals, problems } = JSON.parse(stdout) as { totals: { errors: number }; problems: { severity: string }[] }
  t.equal(totals.errors, 0)
  t.same(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
})

t.test('every endpoint is there once, under an operationId of its own', async (t) => {
  t.equal(operations.length, catalogue.length)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, catalogue.length)
  for (const { method, path } of catalogue) {
    const shape = (one: string) => one.replace(':node_ids', '*').replace(/:[^/]+|\{[^}]+\}/g, '{}')
    const found = Object.keys(document.paths).filter((known) => shape(known) === shape(path))
    t.equal(found.length, 1, path)
    const operation = document.paths[found[0] ?? '']?.[method.toLowerCase()]
    t.ok(operation, `${method} ${path}`)
    const names = (found[0]?.match(/\{[^}]+\}/g) ?? []).map((name) => name.slice(1, -1))
    const inPath = operation?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
    t.same(inPath, names, 'the parameters of the path')
  }
})

t.test('parameters say what they take', async (t) => {
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

t.test('bodies, answers, permissions and targets come from the records', async (t) => {
  const post = document.paths['/agents']?.post
  t.match(post?.requestBody, { required: true })
  t.same(Object.keys(post?.requestBody?.content ?? {}), ['application/json', 'application/x-www-form-urlencoded'])
  t.match(post?.requestBody?.content['application/json']?.schema, {
    required: ['name'],
    additionalProperties: false,
    properties: { name: { type: 'string', pattern: kinds.names.pattern } },
  })
  t.match(post, { 'x-permission': 'agents:write', 'x-secret': 'always', 'x-target': { kind: 'master' } })
  t.match(document.paths['/agents']?.get, { 'x-cache-group': 'agents' })
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
    t.same(Object.keys(responses), ['200', '400', '401', '403', '429', '4XX', '5XX'])
  }
})
