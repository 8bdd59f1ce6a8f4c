/** The document of the v4 contract: valid, complete, and served to operators. */
import t from 'tap'
import { type Format, hasFormat } from '../../../src/contracts/v4/formats.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { startEdge } from '../../../test/support/edge.ts'
import { v4OpenApiDocument } from '../src/v4-document.ts'
import { lintDocument } from './lint.ts'

interface Operation {
  readonly operationId: string
  readonly security?: unknown
  readonly parameters: readonly { readonly $ref?: string; readonly name?: string; readonly schema?: unknown }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: unknown; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, unknown>>
  readonly 'x-releases'?: unknown
}

const text = JSON.stringify(v4OpenApiDocument(v4Contract, { version: '1.2.3', server: 'https://edge.example' }))
const { paths } = JSON.parse(text) as { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }
const operations = Object.values(paths).flatMap((methods) => Object.values(methods))

t.test('the document has no error under the recommended rules of redocly', (t) => lintDocument(t, text))

t.test('each operation appears once, with its parameters', async (t) => {
  t.equal(operations.length, v4Contract.length)
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, v4Contract.length)
  for (const record of v4Contract) {
    const { method, path, query, params, withoutFlags = [] } = record
    const operation = paths[path.replaceAll(/:([^/]+)/g, '{$1}')]?.[method.toLowerCase()]
    const names = operation?.parameters.map(({ name, $ref }) => name ?? $ref?.split('/').at(-1)) ?? []
    const flags = ['pretty', 'wait_for_complete'].filter((name) => !withoutFlags.includes(name))
    t.same(names.toSorted(), [...Object.keys(params), ...Object.keys(query), ...flags].sort(), `${method} ${path}`)
    t.same(operation?.['x-releases'], record.releases, `${method} ${path}`)
  }
})

t.test('values are JSON schemas, and only a login takes a password', async (t) => {
  const agents = paths['/agents']
  const schemaOf = (name: string) => agents?.get?.parameters.find((each) => each.name === name)?.schema
  t.same(schemaOf('limit'), { type: 'integer', minimum: 1, maximum: 100_000, default: 500 })
  t.match(schemaOf('status'), { type: 'array', minItems: 1, items: { enum: ['active', 'pending'] } })
  const body = paths['/security/users']?.post?.requestBody?.content['application/json']?.schema
  t.match(body, { required: ['username', 'password'], additionalProperties: false })
  t.match(agents?.get?.responses['4XX'], { $ref: '#/components/responses/Problem' })
  const withBasic = operations.filter(({ security }) => JSON.stringify(security) === '[{"basic":[]}]')
  t.same(withBasic.map(({ operationId }) => operationId).sort(), [
    'getSecurityUserAuthenticate',
    'postSecurityUserAuthenticate',
    'postSecurityUserAuthenticateRunAs',
  ])
})

t.test('each request body has an example, whose texts have their formats', async (t) => {
  for (const { operationId, requestBody } of operations) {
    for (const { schema, example } of Object.values(requestBody?.content ?? {})) {
      t.not(example, undefined, operationId)
      t.same(faultsOf(schema as Schema, example), [], operationId)
    }
  }
})

interface Schema {
  readonly type?: string
  readonly format?: Format
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Returns the names of wrong values. */
function faultsOf(schema: Schema, value: unknown, name = 'body'): readonly string[] {
  const type = Array.isArray(value) ? 'array' : typeof value
  const isType = schema.type === undefined || schema.type === type || (schema.type === 'integer' && type === 'number')
  const isFormat = schema.format === undefined || hasFormat(schema.format, String(value))
  const isKnown = schema.enum === undefined || schema.enum.includes(value)
  if (!isType || !isFormat || !isKnown) return [name]
  if (Array.isArray(value)) return value.flatMap((one) => faultsOf(schema.items ?? {}, one, name))
  if (type !== 'object') return []
  const members = value as Readonly<Record<string, unknown>>
  const missing = (schema.required ?? []).filter((one) => members[one] === undefined)
  return [
    ...missing,
    ...Object.keys(members).flatMap((one) => faultsOf(schema.properties?.[one] ?? {}, members[one], one)),
  ]
}

t.test('the operations listener serves it to operators', async (t) => {
  const edge = await startEdge({ nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] })
  t.teardown(() => edge.close())
  const get = (user: string) =>
    fetch(`${edge.operationsUrl}/openapi-v4.json`, { headers: { authorization: edge.authorization(user) } })
  const response = await get('operator')
  t.equal(response.status, 200)
  t.ok(response.headers.get('etag'))
  t.match(await response.json(), { openapi: '3.1.0', paths: { '/mitre/tactics': {} } })
  t.equal((await get('reader')).status, 403)
})
