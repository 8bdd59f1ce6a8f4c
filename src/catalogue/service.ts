import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { message, objectOf, textOf } from './schemas/responses.ts'
import { anyNode, keepIn, master, masterItself, memberships } from './schemas/targets.ts'

/** What clients ask before anything else, beyond the seed: who is there, and in which version. */

const common = { section: 'Service', permission: 'signedIn', beyondSeed: true } as const

export const service: readonly Endpoint[] = [
  read({
    path: '/',
    summary: 'Welcome',
    ...common,
    target: masterItself,
    response: objectOf('{msg, api_version, hostname, timestamp}'),
    cache: { never: 'holds the time at which it was answered' },
  }),
  read({
    path: '/version',
    summary: 'Version of the API',
    ...common,
    target: anyNode,
    response: textOf('v<major.minor.patch>'),
    cache: keepIn('manager', 'cluster'),
    priority: 'health',
  }),
]

/** Summaries over all agents. */

export const summary: readonly Endpoint[] = [
  read({
    path: '/summary/agents',
    summary: 'Summary of all agents',
    section: 'Summary',
    permission: 'summary:read',
    target: master,
    response: objectOf('{nodes, groups, agent_os, agent_status, agent_version, last_registered_agent}'),
    cache: keepIn('summary', ...memberships),
  }),
]

/** Tokens of the edge's own, beyond the seed: Basic credentials in, a Bearer token out. */

const tokenEndpoint = {
  path: '/security/user/authenticate',
  section: 'Authentication',
  permission: 'signedIn',
  beyondSeed: true,
} as const
const issuing = {
  ...tokenEndpoint,
  target: { kind: 'edge', operation: 'issueToken' },
  response: objectOf('{token}'),
} as const
const noData = { invalidates: [], invalidatesNothingBecause: 'tokens are no data of the manager' } as const

export const tokens: readonly Endpoint[] = [
  write('POST', { summary: 'Get a token', ...issuing, ...noData }),
  read({ summary: 'Get a token', ...issuing, cache: { never: 'a token of the caller' } }),
  write('DELETE', {
    summary: 'Revoke all tokens of the caller',
    ...tokenEndpoint,
    target: { kind: 'edge', operation: 'revokeTokens' },
    response: message,
    ...noData,
  }),
]
