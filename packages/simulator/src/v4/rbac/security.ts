/** Who may log in at the v4 API, and which tokens are good. */
import { Refusal } from '../errors.ts'
import { isMasterOnly } from '../releases.ts'
import { type Rights, rightsOf, type V4User } from './access.ts'
import { ruleHolds } from './rules.ts'
import { nextId, Store, type User } from './store.ts'
import { TokenCheckers } from './token-checkers.ts'
import { type Claims, digestOf, Tokens } from './tokens.ts'

export interface SecurityOptions {
  readonly users: Readonly<Record<string, V4User>>
  /** Seconds. */
  readonly tokenLifetime: number
  /** Milliseconds for which each of the two processes that check tokens remembers an accepted one; 0: none does. */
  readonly tokenCacheMs: number
  /** Of the cluster. */
  readonly release: string
  readonly now: () => Date
}

/** The user of a request, with what the token says about it. */
export interface Session {
  readonly user: User
  readonly roles: readonly number[]
  readonly rights: Rights
}

const ADMINISTRATOR = 1

/** The accounts and tokens of the cluster. A change of a user, role, policy or rule ends the tokens that it concerns. */
export class Security {
  readonly store: Store
  readonly #tokens = new Tokens()
  readonly #now: () => Date
  readonly #isRelease5: boolean
  /** Milliseconds since the epoch, by user, role, or `*` for all: tokens from before are void. */
  readonly #voidBefore = new Map<string, number>()
  readonly #rights = new Map<string, Rights>()
  readonly #checkers: TokenCheckers<Session>

  constructor({ users, tokenLifetime, tokenCacheMs, release, now }: SecurityOptions) {
    this.#now = now
    this.#isRelease5 = isMasterOnly(release)
    this.#checkers = new TokenCheckers(tokenCacheMs, now)
    this.store = new Store(tokenLifetime, this.#isRelease5)
    const { store } = this
    for (const [at, [name, { password, roles = [], runAs = false }]] of Object.entries(users).entries()) {
      const id = at < BUILT_IN_USERS ? at + 1 : nextId(store.users)
      const numbers = roles.flatMap((role, place) => {
        if (typeof role === 'string') return store.roleNamed(role)?.id ?? []
        const policy = nextId(store.policies)
        store.policies.set(policy, { id: policy, name: `${name}-${place + 1}`, policy: role })
        const own = nextId(store.roles)
        store.roles.set(own, { id: own, name: `${name}-${place + 1}`, policies: [policy], rules: [] })
        return own
      })
      store.users.set(id, { id, name, password, runAs, roles: numbers })
    }
  }

  /** Returns the user of Basic credentials; undefined for anything else. */
  checkPassword(authorization: string | undefined): User | undefined {
    const [, encoded = ''] = /^Basic +(\S+)$/i.exec(authorization ?? '') ?? []
    // The HTTP framework of releases 4.x decodes Latin-1.
    const text = Buffer.from(encoded, 'base64').toString('latin1')
    const colon = text.indexOf(':')
    const user = this.store.userNamed(text.slice(0, Math.max(0, colon)))
    return user?.password === text.slice(colon + 1) ? user : undefined
  }

  /** Returns a new token. `context`: an authorisation context, whose roles follow from the rules. */
  issue(user: User, node: string, context?: Readonly<Record<string, unknown>>): string {
    const { auth_token_exp_timeout: lifetime, rbac_mode } = this.store.config
    const nbf = this.#seconds()
    const claims: Claims = {
      iss: 'wazuh',
      aud: 'Wazuh API REST',
      nbf,
      ...(this.#isRelease5 && { nbf_ms: this.#now().getTime() }),
      exp: nbf + lifetime,
      sub: user.name,
      run_as: context !== undefined,
      rbac_roles: context === undefined ? [...user.roles] : this.#rolesOf(context),
      rbac_mode,
      ...(context !== undefined && { hash_auth_context: digestOf(context) }),
    }
    return this.#tokens.issue(node, claims)
  }

  #rolesOf(context: Readonly<Record<string, unknown>>): number[] {
    const { roles, rules } = this.store
    return [...roles.values()]
      .filter((role) => role.rules.some((id) => ruleHolds(rules.get(id)?.rule ?? {}, context)))
      .map(({ id }) => id)
  }

  /** Returns the session of a token at a node. Throws the 401 of the API, which has one text for all bad tokens. */
  authenticate(authorization: string | undefined, node: string): Session {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (token === undefined) throw unauthorized('No authorization token provided')
    return this.#checkers.check(node, token, () => this.#check(token, node))
  }

  #check(token: string, node: string): Session {
    const issued = this.#tokens.find(token, node)
    const user = issued && this.store.userNamed(issued.claims.sub)
    if (issued === undefined || user === undefined || issued.expiresAt <= this.#seconds()) throw INVALID()
    const { nbf, nbf_ms, rbac_roles: roles } = issued.claims
    const names = ['*', `user ${user.id}`, ...roles.map((role) => `role ${role}`)]
    const voidBefore = Math.max(...names.map((name) => this.#voidBefore.get(name) ?? 0))
    if (nbf_ms === undefined ? nbf < Math.floor(voidBefore / 1000) : nbf_ms < voidBefore) throw INVALID()
    return { user, roles, rights: this.rightsOf(roles) }
  }

  rightsOf(roles: readonly number[]): Rights {
    const { store } = this
    const key = `${store.config.rbac_mode} ${roles.join()}`
    const policies = store.policiesOf(roles)
    const unlimited = roles.includes(ADMINISTRATOR) && policies.every(({ effect }) => effect !== 'deny')
    const rights = this.#rights.get(key) ?? rightsOf(policies, { unlimited, mode: store.config.rbac_mode })
    this.#rights.set(key, rights)
    return rights
  }

  /**
   * Ends the tokens of users or roles that were issued in earlier seconds, as the real API does. Absent: all tokens, which
   * release 5.0 ends at once by new keys.
   */
  end(changed?: { readonly users?: readonly number[]; readonly roles?: readonly number[] }): void {
    this.#rights.clear()
    if (changed === undefined && this.#isRelease5) this.revoke()
    this.#checkers.endAcceptances()
    const { users = [], roles = [] } = changed ?? {}
    const names = [...users.map((id) => `user ${id}`), ...roles.map((id) => `role ${id}`)]
    for (const name of changed === undefined ? ['*'] : names) this.#voidBefore.set(name, this.#now().getTime())
  }

  /** Makes tokens void at once: all, or those of a user or a node. */
  revoke({ user, node }: { readonly user?: string; readonly node?: string } = {}): void {
    this.#tokens.forget(({ claims, node: own }) => (user ?? claims.sub) === claims.sub && (node ?? own) === own)
    this.#checkers.forget()
  }

  /** Ends the lifetime of all tokens now. */
  expire(): void {
    this.#checkers.forget()
    this.#tokens.expire(this.#seconds())
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000)
  }
}

/** The first accounts belong to every installation. */
const BUILT_IN_USERS = 2

export function unauthorized(detail: string): Refusal {
  return new Refusal(401, 'Unauthorized', detail)
}

const INVALID = () => unauthorized('Invalid token')
