/** Users, roles, policies and rules of the cluster. Numbers below 100 belong to what every installation has. */
import type { Mode, Policy } from './access.ts'
import defaultsOf4 from './defaults.json' with { type: 'json' }
import defaultsOf5 from './defaults-5.json' with { type: 'json' }

export interface User {
  readonly id: number
  readonly name: string
  password: string
  runAs: boolean
  /** Numbers of roles; later ones overrule earlier ones. */
  roles: number[]
}

export interface Role {
  readonly id: number
  name: string
  policies: number[]
  rules: number[]
}

export interface NamedPolicy {
  readonly id: number
  name: string
  policy: Policy
}

export interface Rule {
  readonly id: number
  name: string
  rule: Readonly<Record<string, unknown>>
}

export interface SecurityConfig {
  /** Seconds. */
  auth_token_exp_timeout: number
  rbac_mode: Mode
}

interface Defaults {
  readonly policies: readonly { readonly id: number; readonly name: string; readonly policy: object }[]
  readonly rules: readonly { readonly id: number; readonly name: string; readonly rule: object }[]
  readonly roles: readonly {
    readonly id: number
    readonly name: string
    readonly policies: readonly number[]
    readonly rules: readonly number[]
  }[]
}

const FIRST_OWN = 100

/** Whether the object cannot be changed or deleted. */
export function isBuiltIn({ id }: { readonly id: number }): boolean {
  return id < FIRST_OWN
}

export class Store {
  readonly users = new Map<number, User>()
  readonly roles = new Map<number, Role>()
  readonly policies = new Map<number, NamedPolicy>()
  readonly rules = new Map<number, Rule>()
  readonly config: SecurityConfig
  readonly #initial: Readonly<SecurityConfig>

  /** `isRelease5`: with what installations of release 5.0 have. */
  constructor(tokenLifetime: number, isRelease5 = false) {
    const defaults: Defaults = isRelease5 ? defaultsOf5 : defaultsOf4
    this.#initial = { auth_token_exp_timeout: tokenLifetime, rbac_mode: 'white' }
    this.config = { ...this.#initial }
    for (const { id, name, policy } of defaults.policies) {
      this.policies.set(id, { id, name, policy: policy as Policy })
    }
    for (const { id, name, rule } of defaults.rules) this.rules.set(id, { id, name, rule: { ...rule } })
    for (const { id, name, policies, rules } of defaults.roles) {
      this.roles.set(id, { id, name, policies: [...policies], rules: [...rules] })
    }
  }

  userNamed(name: string): User | undefined {
    return [...this.users.values()].find((user) => user.name === name)
  }

  roleNamed(name: string): Role | undefined {
    return [...this.roles.values()].find((role) => role.name === name)
  }

  resetConfig(): void {
    Object.assign(this.config, this.#initial)
  }

  /** Returns the policies of roles, the deciding ones last. */
  policiesOf(roles: readonly number[]): Policy[] {
    return roles.flatMap((id) =>
      (this.roles.get(id)?.policies ?? []).flatMap((policy) => this.policies.get(policy)?.policy ?? []),
    )
  }

  usersOf(role: number): User[] {
    return [...this.users.values()].filter(({ roles }) => roles.includes(role))
  }

  rolesWith(kind: 'policies' | 'rules', id: number): Role[] {
    return [...this.roles.values()].filter((role) => role[kind].includes(id))
  }
}

/** Returns the number of the next object: the highest one and one more. */
export function nextId(objects: ReadonlyMap<number, unknown>): number {
  return Math.max(FIRST_OWN - 1, ...objects.keys()) + 1
}
