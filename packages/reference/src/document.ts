/** The catalogue as an OpenAPI 3.1 document: for programs, and for the reference page. */

import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'
import { codesByStatus } from './error-codes.ts'
import { curlOf, exampleOf, exampleResponse } from './example.ts'
import managerErrors from './manager-errors.json' with { type: 'json' }
import {
  bodyOf,
  commonParameters,
  type Json,
  type PathTemplate,
  parametersOf,
  pathTemplates,
  sentences,
} from './parameters.ts'
import { componentsOf, failureSchemas, responsesOf, sharedResponses } from './responses.ts'
import { sectionOf } from './section.ts'

export interface OpenApiOptions {
  /** Version of the edge. */
  readonly version: string
  /** Base address of the API; default `/`. */
  readonly server?: string | Server
}

/** A base address with a host that the reader replaces, as OpenAPI writes it. */
export interface Server {
  readonly url: string
  readonly variables: Readonly<Record<string, { readonly default: string; readonly description: string }>>
}

/** What the documents of the two contracts differ in. */
interface DocumentParts {
  readonly title: string
  /** Markdown. */
  readonly introduction: string
  readonly security: readonly Json[]
  /** What the document calls the records, such as `Endpoints`. */
  readonly noun: string
  readonly components: Json
  operationOf(record: Endpoint, template: PathTemplate): Json
}

/** Returns the document of these records as a value that can be written as JSON. */
export function documentOf(records: readonly Endpoint[], options: OpenApiOptions, parts: DocumentParts): Json {
  const { version, server = '/' } = options
  const { title, introduction, security, noun, components, operationOf } = parts
  const sections = [...new Set(records.map(sectionOf))]
  const templateOf = pathTemplates(records)
  const paths: Record<string, Record<string, Json>> = {}
  for (const record of records) {
    const template = templateOf(record)
    paths[template.path] = { ...paths[template.path], [record.method.toLowerCase()]: operationOf(record, template) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [typeof server === 'string' ? { url: server } : { ...server }],
    security,
    tags: sections.map((name) => ({ name, description: `${noun} of the section ${name}.` })),
    paths,
    components: {
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic' },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      ...components,
    },
  }
}

export function openApiDocument(catalogue: readonly Endpoint[], options: OpenApiOptions): Json {
  const document = documentOf(catalogue, options, {
    title: 'Manager Edge',
    introduction: introduction(),
    security: [{ basic: [] }, { bearer: [] }],
    noun: 'Endpoints',
    components: {
      parameters: commonParameters,
      schemas: { ...componentsOf(catalogue), ...failureSchemas() },
      responses: sharedResponses(),
    },
    operationOf,
  })
  return { ...document, 'x-errors': errorTable, 'x-manager-errors': managerErrors.meanings }
}

/** The part that all endpoints share, in Markdown. */
function introduction(): string {
  const rows = Object.entries<ErrorDefinition>(errorTable).map(([code, { status, message, remedy }]) => {
    const cells = [code, status, message, remedy].map((cell) => String(cell).replaceAll('|', '&#124;'))
    return `| ${cells.join(' | ')} |`
  })
  return `The API of a security monitoring manager cluster, as this edge serves it.

Sign in with HTTP Basic or with a Bearer token of \`POST /security/user/authenticate\`. The examples take the address
and the user from the shell; curl asks for the password:

\`\`\`
EDGE=https://edge.example:55000 EDGE_USER=alice
\`\`\`

The setting \`cache.ttl\` holds the freshness lifetime of each cache group. The header \`Cache-Status\` of a
response reports what the cache did. \`GET /cache/explain\` reports what the cache would do with the next request.

Errors of the manager have HTTP status 200 and the manager's code. The edge itself returns the errors below. If \`Accept\`
names \`application/problem+json\`, they are problems (RFC 9457) with \`title\`, \`status\`, \`detail\`, \`error\` (the code),
\`remediation\` and, for a misspelled name, \`suggestion\`. The header \`Did-You-Mean\` has that name in both forms.

<details><summary>Errors of the edge</summary>

| Code | HTTP status | Message | Remedy |
|---|---|---|---|
${rows.join('\n')}

</details>
`
}

function operationOf(endpoint: Endpoint, template: PathTemplate): Json {
  const body = describedBody(endpoint)
  const { body: example = '{}' } = exampleOf(endpoint)
  return {
    operationId: operationId(endpoint),
    tags: [sectionOf(endpoint)],
    summary: endpoint.summary,
    description: describe(endpoint),
    parameters: parametersOf(endpoint, template),
    ...(body && { requestBody: bodyOf(body, JSON.parse(example)) }),
    responses: responsesOf(endpoint, exampleResponse(endpoint)),
    'x-error-codes': codesByStatus(endpoint),
    'x-permission': endpoint.permission,
    'x-target': endpoint.target,
    'x-secret': endpoint.secret,
    ...('cache' in endpoint
      ? { 'x-cache': endpoint.cache, ...('group' in endpoint.cache && { 'x-cache-group': endpoint.cache.group }) }
      : { 'x-invalidates': endpoint.invalidates }),
    ...(endpoint.experimental && { 'x-experimental': true }),
    ...(endpoint.beyondSeed && { 'x-beyond-seed': true }),
  }
}

/** Markdown: notes, then permission, target and cache policy in words, then a first call. */
function describe(endpoint: Endpoint): string {
  const { oneOf, experimental, beyondSeed, slow, params } = endpoint
  const strictQuery = endpoint.contract === 'v4' || endpoint.strictQuery
  const routed = Object.values(params).find((param) => param.routePattern !== undefined)
  const notes = sentences(
    routed && `in place of * in the path: ${routed.role}`,
    experimental && 'served only if cluster.experimental is on (603 otherwise)',
    beyondSeed && 'an endpoint of the edge; the manager does not have it',
    oneOf && `needs at least one of ${oneOf.join(', ')} (604)`,
    strictQuery ? 'other query names are refused (604)' : 'other query names are ignored',
    slow && 'may take long',
  )
  return [notes, factsOf(endpoint), `\`\`\`\n${curlOf(endpoint)}\n\`\`\``].join('\n\n')
}

/** Returns permission, target and cache policy in words, as a list in Markdown. */
export function factsOf(endpoint: Endpoint): string {
  const permission = `**Permission:** ${describePermission(endpoint)}`
  const target = `**Target:** ${describeTarget(endpoint)}`
  return [permission, target, describeCache(endpoint)].map((fact) => `- ${fact}`).join('\n')
}

function describePermission({ permission, secret, allFieldsWithout }: Endpoint): string {
  if (permission === 'signedIn') return 'any signed-in user'
  if (secret === 'none' && allFieldsWithout === undefined) return `\`${permission}\``
  const verb = secret === 'always' ? 'holds' : 'may hold'
  return `\`${permission}\` and \`secrets:read\`, since the response ${verb} a secret`
}

function describeTarget({ target, response: { data } }: Endpoint): string {
  switch (target.kind) {
    case 'edge':
      return 'the edge itself'
    case 'master':
      return target.through === 'none' ? 'the master only' : 'the master, or a worker while the master is unreachable'
    case 'anyNode':
      return 'any node'
    case 'node':
      return `the node in the path, which receives \`${target.twin}\``
    case 'severalNodes':
      return `the nodes in the path, each of which receives \`${target.ofNode}\`; the response names missing nodes`
    case 'agentOwner':
      return 'the node that the agent reports to'
    case 'agentOwners':
      return `the nodes that the agents of the ${target.ids} report to; the edge joins their responses`
    case 'everyNode': {
      const missing = data === 'collection' ? 'the response names missing nodes' : 'a missing node is an error'
      return `every node; the edge joins their responses; ${missing}`
    }
  }
}

const STALE_LIMITS = { never: 'never served stale', whileHot: 'served stale only for seconds while requested often' }

function describeCache(endpoint: Endpoint): string {
  if ('cache' in endpoint) {
    const policy = endpoint.cache
    if ('never' in policy) return `**Cache:** never stored: ${policy.never}`
    const stale = policy.stale === undefined ? '' : `, ${STALE_LIMITS[policy.stale]}`
    const tags = policy.tags.map(quoted).join(' ')
    return `**Cache:** group \`${policy.group}\`${stale}, shared by all callers who may read it; tags ${tags}`
  }
  if (endpoint.invalidates.length === 0) return `**Invalidates:** nothing: ${endpoint.invalidatesNothingBecause ?? ''}`
  const tags = endpoint.invalidates.map((entry) =>
    typeof entry === 'string'
      ? quoted(entry)
      : `${entry.tags.map(quoted).join(' ')} (if \`${entry.value}\` matches \`${entry.matches}\`)`,
  )
  return `**Invalidates:** ${tags.join(' ')}`
}

function quoted(text: string): string {
  return `\`${text}\``
}

/** `GET /agents/:agent_id/key` → `getAgentsByAgentIdKey`. */
export function operationId({ method, path }: Endpoint): string {
  const words = path.split('/').filter((segment) => segment !== '')
  const named = words.map((word) => (word.startsWith(':') ? `By${camelCase(word.slice(1))}` : camelCase(word)))
  return method.toLowerCase() + (named.join('') || 'Root')
}

function camelCase(word: string): string {
  return word
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('')
}
