import type { Endpoint, Secret } from '../catalogue/endpoint.ts'
import { bodyOf } from './openapi/bodies.ts'
import { commonParameters, type Json, parametersOf, sentences } from './openapi/parameters.ts'
import { operationId, type PathTemplate, pathTemplates } from './openapi/paths.ts'
import { envelopeSchemas, responsesOf, sharedResponses } from './openapi/responses.ts'

export interface OpenApiOptions {
  /** Version of the edge. */
  readonly version: string
  /** Base address of the API; default `/`. */
  readonly server?: string
}

/** The catalogue as an OpenAPI 3.1 document, ready to be written as JSON. */
export function openApiDocument(catalogue: readonly Endpoint[], options: OpenApiOptions): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Manager Edge',
      version: options.version,
      description: 'The API of a security monitoring manager cluster, as its edge serves it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.server ?? '/' }],
    security: [{ basic: [] }, { bearer: [] }],
    tags: tagsOf(catalogue),
    paths: pathsOf(catalogue),
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic' },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      parameters: commonParameters,
      schemas: envelopeSchemas(),
      responses: sharedResponses(),
    },
  }
}

function tagsOf(catalogue: readonly Endpoint[]): readonly Json[] {
  const sections = [...new Set(catalogue.map(({ section }) => section))]
  return sections.map((name) => ({ name, description: `Endpoints of the section ${name}.` }))
}

function pathsOf(catalogue: readonly Endpoint[]): Json {
  const templateOf = pathTemplates(catalogue)
  const paths: Record<string, Record<string, Json>> = {}
  for (const endpoint of catalogue) {
    const template = templateOf(endpoint)
    const operations = paths[template.path] ?? {}
    operations[endpoint.method.toLowerCase()] = operationOf(endpoint, template)
    paths[template.path] = operations
  }
  return paths
}

function operationOf(endpoint: Endpoint, template: PathTemplate): Json {
  const body = 'body' in endpoint ? endpoint.body : undefined
  const description = describe(endpoint)
  return {
    operationId: operationId(endpoint),
    tags: [endpoint.section],
    summary: endpoint.summary,
    ...(description !== '' && { description }),
    parameters: parametersOf(endpoint, template),
    ...(body && { requestBody: bodyOf(body) }),
    responses: responsesOf(endpoint),
    'x-permission': endpoint.permission,
    'x-target': endpoint.target,
    'x-secret': endpoint.secret,
    ...('cache' in endpoint && 'group' in endpoint.cache && { 'x-cache-group': endpoint.cache.group }),
    ...(endpoint.experimental && { 'x-experimental': true }),
    ...(endpoint.beyondSeed && { 'x-beyond-seed': true }),
  }
}

const secrecy: Readonly<Record<Secret, string | undefined>> = {
  none: undefined,
  always: 'the answer holds a secret: needs secrets:read besides',
  possible: 'the answer may hold a secret: needs secrets:read besides',
}

function describe({ oneOf, strictQuery, experimental, secret, slow, params }: Endpoint): string {
  const routed = Object.values(params).find((param) => param.routePattern !== undefined)
  return sentences(
    routed && `in place of * in the path: ${routed.role}`,
    experimental && 'served only where cluster.experimental is on (603 else)',
    oneOf && `needs at least one of ${oneOf.join(', ')} (604)`,
    strictQuery ? 'other query names are refused (604)' : 'other query names are ignored',
    secrecy[secret],
    slow && 'may take long',
  )
}
