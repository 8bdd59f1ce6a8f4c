/** Records of the service itself: welcome, version, summary of all agents, and the tokens of the edge. */
import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { objectOf, textOf } from './schemas/responses.ts'
import { anyNode, cacheIn, master, masterItself, memberships } from './schemas/targets.ts'

const common = { section: 'Service', permission: 'signedIn', beyondSeed: true } as const

const description = {
  response: { data: 'document', schema: 'OpenApiDocument' },
  cache: { never: 'part of the edge: revalidated by its entity tag' },
} as const

export const service: readonly Endpoint[] = [
  read('/', 'Welcome', {
    ...common,
    target: masterItself,
    response: objectOf('Welcome'),
    cache: { never: 'contains the time of the response' },
  }),
  read('/version', 'Version of the API', {
    ...common,
    target: anyNode,
    response: textOf('Version'),
    cache: cacheIn('manager', 'cluster'),
    priority: 'health',
  }),
  read('/openapi.json', 'The description of this API (OpenAPI 3.1)', {
    ...common,
    ...description,
    target: { kind: 'edge', operation: 'describeApi' },
  }),
  read('/openapi-newer.json', 'The description of the API for clients of releases 4.x (OpenAPI 3.1)', {
    ...common,
    ...description,
    target: { kind: 'edge', operation: 'describeNewerApi' },
  }),
]

export const summary: readonly Endpoint[] = [
  read('/summary/agents', 'Summary of all agents', {
    section: 'Summary',
    permission: 'summary:read',
    target: master,
    response: objectOf('Summary'),
    cache: cacheIn('summary', ...memberships),
  }),
]

/** The edge issues its own tokens: a request with Basic credentials gets a Bearer token. */
const TOKEN_PATH = '/security/user/authenticate'
const tokenEndpoint = {
  section: 'Authentication',
  permission: 'signedIn',
  beyondSeed: true,
} as const
const issuing = {
  ...tokenEndpoint,
  target: { kind: 'edge', operation: 'issueToken' },
  response: objectOf('Token'),
} as const
const noData = { invalidates: [], invalidatesNothingBecause: 'tokens are no data of the manager' } as const

export const tokens: readonly Endpoint[] = [
  write('POST', TOKEN_PATH, 'Get a token', { ...issuing, ...noData }),
  read(TOKEN_PATH, 'Get a token', { ...issuing, cache: { never: 'a token of the caller' } }),
  write('DELETE', TOKEN_PATH, 'Revoke all tokens of the caller', {
    ...tokenEndpoint,
    target: { kind: 'edge', operation: 'revokeTokens' },
    ...noData,
  }),
]
