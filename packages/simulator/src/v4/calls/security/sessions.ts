/** The calls about logging in and out, the own user, and the configuration of the security. */
import { affected } from '../../answers.ts'
import { type Asked, type Call, NO_TEXTS } from '../../model.ts'
import type { Rights } from '../../rbac/access.ts'
import { minorOf, RELEASE_5 } from '../../releases.ts'
import { wholeNeed } from './objects.ts'

const text = (message: string) => ({ kind: 'text', message }) as const

/** The API itself answers these calls. */
const logIn = (method: 'GET' | 'POST', path: string): Call => {
  return { method, path: `/security/user/${path}`, runs: 'here', needs: [], texts: NO_TEXTS, run: () => text('') }
}

/** The own user, with all that its roles hold. */
function me({ session, security: { store } }: Asked) {
  const { id, name, runAs } = session.user
  const roles = session.roles.flatMap((number) => {
    const role = store.roles.get(number)
    if (role === undefined) return []
    return {
      id: role.id,
      name: role.name,
      policies: role.policies.flatMap((policy) => store.policies.get(policy) ?? []),
      rules: role.rules.flatMap((rule) => store.rules.get(rule) ?? []),
    }
  })
  return affected([{ id, username: name, allow_run_as: runAs, roles }])
}

function configure({ security, fields }: Asked) {
  Object.assign(security.store.config, fields)
  security.end()
  return text('Configuration was successfully updated')
}

export const sessionCalls: readonly Call[] = [
  logIn('GET', 'authenticate'),
  logIn('POST', 'authenticate'),
  logIn('POST', 'authenticate/run_as'),
  {
    method: 'DELETE',
    path: '/security/user/authenticate',
    runs: 'here',
    needs: [],
    texts: NO_TEXTS,
    inApi: true,
    run: ({ security, session: { user } }) => {
      security.end({ users: [user.id] })
      return text(`User ${user.name} was successfully logged out`)
    },
  },
  {
    method: 'PUT',
    path: '/security/user/revoke',
    runs: 'master',
    needs: [wholeNeed('revoke')],
    texts: NO_TEXTS,
    run: ({ security }) => {
      security.end()
      return text('Tokens were successfully revoked')
    },
  },
  {
    method: 'GET',
    path: '/security/users/me',
    runs: 'master',
    needs: [],
    texts: { all: 'Current user information was returned', some: '', none: '' },
    run: me,
  },
  {
    method: 'GET',
    path: '/security/users/me/policies',
    runs: 'master',
    needs: [],
    texts: NO_TEXTS,
    inApi: true,
    run: ({ rights, security, node, world }) => ({
      kind: 'data',
      data: {
        ...rights.processed(),
        ...laterRights(rights, minorOf(node.version ?? world.version)),
        rbac_mode: security.store.config.rbac_mode,
      },
      message: 'Current user processed policies information was returned',
    }),
  },
  {
    method: 'GET',
    path: '/security/config',
    runs: 'master',
    needs: [wholeNeed('read_config')],
    texts: NO_TEXTS,
    run: ({ security }) => ({ kind: 'data', data: security.store.config }),
  },
  {
    method: 'PUT',
    path: '/security/config',
    runs: 'master',
    needs: [wholeNeed('update_config')],
    texts: NO_TEXTS,
    run: configure,
  },
  {
    method: 'DELETE',
    path: '/security/config',
    runs: 'master',
    needs: [wholeNeed('update_config')],
    texts: NO_TEXTS,
    run: (asked) => {
      asked.security.store.resetConfig()
      return configure({ ...asked, fields: {} })
    },
  },
]

const INGESTS_SINCE = 7

/** The simulated policies are those of the recorded release. Later ones give administrators further rights. */
function laterRights({ unlimited }: Rights, minor: number): object {
  return unlimited && minor >= INGESTS_SINCE && minor < RELEASE_5 ? { 'event:ingest': { '*:*:*': 'allow' } } : {}
}
