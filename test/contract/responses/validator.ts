/** Validates responses against the OpenAPI document, as JSON Schema of the dialect 2020-12. */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { openApiDocument } from '../../../packages/reference/src/document.ts'
import { pathTemplates } from '../../../packages/reference/src/parameters.ts'
import { completeSchema, hasSelect } from '../../../packages/reference/src/responses.ts'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'

/** A request and the response to it. */
export interface Answer {
  readonly endpoint: Endpoint
  /** Path and query. */
  readonly url: string
  readonly status: number
  readonly type: string
  readonly text: string
}

const DOCUMENT = 'https://edge.example/openapi.json'
const document = JSON.parse(JSON.stringify(openApiDocument(catalogue, { version: '1.2.3' }))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>
  readonly components: { readonly responses: Responses }
}
type Responses = Readonly<
  Record<string, { readonly $ref?: string; readonly content?: Readonly<Record<string, unknown>> }>
>

const templateOf = pathTemplates(catalogue)
// The bundles of the build, which the compiled tests import, have no such file; the library itself has.
const { Ajv2020 } = createRequire(resolve('package.json'))('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')
// The document has keywords of OpenAPI beside those of JSON Schema.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
ajv.addSchema(document, DOCUMENT)

/** Returns what is wrong with a response; an empty list if the document describes it. */
export function faultsOf(answer: Answer): readonly string[] {
  const { endpoint, status, type, text } = answer
  const template = templateOf(endpoint).path
  const pointer = `/paths/${escaped(template)}/${endpoint.method.toLowerCase()}/responses`
  const responses = document.paths[template]?.[endpoint.method.toLowerCase()]?.responses ?? {}
  const entry = [String(status), `${String(status)[0]}XX`].find((key) => responses[key] !== undefined)
  if (entry === undefined) return [`no response with status ${status}`]
  const { $ref } = responses[entry] ?? {}
  const place = $ref === undefined ? `${pointer}/${entry}` : $ref.slice(1)
  const { content } =
    $ref === undefined ? (responses[entry] ?? {}) : (document.components.responses[nameIn($ref)] ?? {})
  const media = type.replace(/;.*/, '')
  if (content?.[media] === undefined) return [`no content of the type ${media}`]
  const schema = { $ref: `${DOCUMENT}#${place}/content/${escaped(media)}/schema` }
  const body: unknown = media === 'application/json' ? JSON.parse(text) : text
  return [...check(schema, body), ...(status === 200 && media === 'application/json' ? missing(answer, body) : [])]
}

/** Without `select`, a response has all fields that are not optional. */
function missing({ endpoint, url }: Answer, body: unknown): readonly string[] {
  const { error, data } = body as { readonly error: unknown; readonly data: unknown }
  if (error !== 0 || data === undefined || !hasSelect(endpoint) || /[?&](?:select|fields)=/.test(url)) return []
  const items = endpoint.response.data === 'collection' ? (data as { readonly items: unknown[] }).items : [data]
  return items.flatMap((item) => check(completeSchema(endpoint), item))
}

function check(schema: object, value: unknown): readonly string[] {
  const validate = compiled.get(JSON.stringify(schema)) ?? ajv.compile(absolute(schema))
  compiled.set(JSON.stringify(schema), validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

const compiled = new Map<string, ReturnType<typeof ajv.compile>>()

function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', `"${DOCUMENT}#/components`)) as object
}

function escaped(segment: string): string {
  return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}
