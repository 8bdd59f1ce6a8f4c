/** Tokens of the edge's own, beyond the seed: Basic credentials in, a Bearer token out. */
import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { message, objectOf } from './schemas/answers.ts'

const common = {
  path: '/security/user/authenticate',
  section: 'Authentication',
  permission: 'signedIn',
  beyondSeed: true,
} as const
const issuing = { ...common, target: { kind: 'edge', operation: 'issueToken' }, response: objectOf('{token}') } as const
const noData = { invalidates: [], invalidatesNothingBecause: 'tokens are no data of the manager' } as const

export const tokens: readonly Endpoint[] = [
  write('POST', { summary: 'Get a token', ...issuing, ...noData }),
  read({ summary: 'Get a token', ...issuing, cache: { never: 'a token of the caller' } }),
  write('DELETE', {
    summary: 'Revoke all tokens of the caller',
    ...common,
    target: { kind: 'edge', operation: 'revokeTokens' },
    response: message,
    ...noData,
  }),
]
