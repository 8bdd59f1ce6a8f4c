/** Sessions of users. The API itself issues and voids tokens; these calls have nothing else to do. */
import { type Call, NO_TEXTS } from '../model.ts'
import { flag } from '../parameters.ts'

const message = (text: string) => () => ({ kind: 'text', message: text }) as const
const ownUpdate = { action: 'security:update_config', type: '*:*', named: 'whole' } as const

const BOTH = ['pretty', 'wait_for_complete'] as const

export const securityCalls: readonly Call[] = [
  ...(['GET', 'POST'] as const).map((method): Call => {
    const path = '/security/user/authenticate'
    const since = method === 'POST' ? { since: 4 } : {}
    const query = { raw: flag }
    return { method, path, ...since, without: BOTH, query, runs: 'here', needs: [], texts: NO_TEXTS, run: message('') }
  }),
  {
    method: 'POST',
    path: '/security/user/authenticate/run_as',
    without: BOTH,
    query: { raw: flag },
    runs: 'here',
    needs: [],
    texts: NO_TEXTS,
    run: message(''),
  },
  {
    method: 'DELETE',
    path: '/security/user/authenticate',
    without: BOTH,
    runs: 'here',
    needs: [],
    texts: NO_TEXTS,
    inApi: true,
    run: ({ user }) => ({ kind: 'text', message: `User ${user} was successfully logged out` }),
  },
  {
    method: 'GET',
    path: '/security/users/me/policies',
    without: ['wait_for_complete'],
    runs: 'master',
    needs: [],
    texts: NO_TEXTS,
    inApi: true,
    run: ({ rights }) => ({ kind: 'data', data: { ...rights.processed(), rbac_mode: 'white' } }),
  },
  {
    method: 'PUT',
    path: '/security/user/revoke',
    without: BOTH,
    runs: 'master',
    needs: [{ action: 'security:revoke', type: '*:*', named: 'whole' }],
    texts: NO_TEXTS,
    run: message('Tokens were successfully revoked'),
  },
  {
    method: 'PUT',
    path: '/security/config',
    body: {
      type: 'application/json',
      fields: { auth_token_exp_timeout: { type: 'integer', minimum: 30 }, rbac_mode: { type: 'string' } },
    },
    runs: 'master',
    needs: [ownUpdate],
    texts: NO_TEXTS,
    run: message('Configuration was successfully updated'),
  },
]
