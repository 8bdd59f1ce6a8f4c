/** The calls about roles, policies and rules. */
import type { ErrorCode } from '../../errors.ts'
import type { Asked, Call } from '../../model.ts'
import type { Policy } from '../../rbac/access.ts'
import { isRule } from '../../rbac/rules.ts'
import { nextId, type Store } from '../../rbac/store.ts'
import { bothTexts, createCall, isReserved, readCall, removeCall, updateCall } from './objects.ts'

const ACTION = /^[\w*-]+:[\w*-]+$/
const RESOURCE = /^[\w*-]+:[\w*-]+:[\w*.%/\\ -]+(?:&[\w*-]+:[\w*-]+:[\w*.%/\\ -]+)*$/

function isPolicy(value: unknown): value is Policy {
  const { actions, resources, effect } = value as Partial<Record<string, unknown>>
  const areAll = (list: unknown, form: RegExp) =>
    Array.isArray(list) && list.length > 0 && list.every((one) => form.test(String(one)))
  return areAll(actions, ACTION) && areAll(resources, RESOURCE) && (effect === 'allow' || effect === 'deny')
}

function isTaken(store: Store, kind: 'roles' | 'policies' | 'rules', name: string, except?: number): boolean {
  return [...store[kind].values()].some((one) => one.name === name && one.id !== except)
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function createRole({ security: { store } }: Asked, name: string): ErrorCode | number[] {
  if (isTaken(store, 'roles', name)) return 4005
  const id = nextId(store.roles)
  store.roles.set(id, { id, name, policies: [], rules: [] })
  return [id]
}

function updateRole({ security, fields }: Asked, id: number): ErrorCode | undefined {
  const role = security.store.roles.get(id)
  if (role === undefined || isReserved(id)) return 4008
  if (fields.name === undefined) return 4001
  if (isTaken(security.store, 'roles', String(fields.name), id)) return 4005
  role.name = String(fields.name)
  security.end({ roles: [id] })
  return undefined
}

function removeRole({ security }: Asked, id: number): ErrorCode | undefined {
  if (isReserved(id)) return 4008
  security.store.roles.delete(id)
  for (const user of security.store.usersOf(id)) user.roles = user.roles.filter((role) => role !== id)
  security.end({ roles: [id] })
  return undefined
}

function createPolicy({ security: { store }, fields }: Asked, name: string): ErrorCode | number[] {
  const { policy } = fields
  if (!isPolicy(policy)) return 4006
  if (isTaken(store, 'policies', name)) return 4009
  if ([...store.policies.values()].some((one) => isSame(one.policy, policy))) return 4009
  const id = nextId(store.policies)
  store.policies.set(id, { id, name, policy })
  return [id]
}

function updatePolicy({ security, fields }: Asked, id: number): ErrorCode | undefined {
  const { store } = security
  const known = store.policies.get(id)
  if (known === undefined || isReserved(id)) return 4008
  const { name = known.name, policy = known.policy } = fields
  if (!isPolicy(policy)) return 4006
  if (isTaken(store, 'policies', String(name), id)) return 4013
  store.policies.set(id, { id, name: String(name), policy })
  security.end({ roles: store.rolesWith('policies', id).map((role) => role.id) })
  return undefined
}

function createRule({ security: { store }, fields }: Asked, name: string): ErrorCode | number[] {
  const { rule } = fields
  if (!isRule(rule)) return 4003
  if (isTaken(store, 'rules', name)) return 4005
  const id = nextId(store.rules)
  store.rules.set(id, { id, name, rule })
  return [id]
}

function updateRule({ security, fields }: Asked, id: number): ErrorCode | undefined {
  const { store } = security
  const known = store.rules.get(id)
  if (known === undefined || isReserved(id)) return 4008
  const { name = known.name, rule = known.rule } = fields
  if (!isRule(rule)) return 4003
  if (isTaken(store, 'rules', String(name), id)) return 4005
  store.rules.set(id, { id, name: String(name), rule })
  security.end({ roles: store.rolesWith('rules', id).map((role) => role.id) })
  return undefined
}

/** Removes the object from its roles too. */
function removeFrom(kind: 'policies' | 'rules') {
  return ({ security }: Asked, id: number): ErrorCode | undefined => {
    if (isReserved(id)) return 4008
    const roles = security.store.rolesWith(kind, id)
    security.store[kind].delete(id)
    for (const role of roles) role[kind] = role[kind].filter((one) => one !== id)
    security.end({ roles: roles.map((role) => role.id) })
    return undefined
  }
}

const texts = (one: string, many: string) => ({
  read: bothTexts(`All specified ${many} were returned`, `No ${one} was returned`, `Some ${many} were not returned`),
  deleted: bothTexts(`All specified ${many} were deleted`, `No ${one} was deleted`, `Some ${many} were not deleted`),
  created: bothTexts(`${capital(one)} was successfully created`, `${capital(one)} was not created`),
  updated: bothTexts(`${capital(one)} was successfully updated`, `${capital(one)} was not updated`),
})

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const roles = texts('role', 'roles')
const policies = texts('policy', 'policies')
const rules = texts('security rule', 'security rules')

export const roleCalls: readonly Call[] = [
  readCall('roles', roles.read),
  createCall('roles', roles.created, 'create', createRole),
  updateCall('roles', roles.updated, updateRole),
  removeCall('roles', roles.deleted, removeRole),
  readCall('policies', policies.read),
  createCall('policies', policies.created, 'create', createPolicy),
  updateCall('policies', policies.updated, updatePolicy),
  removeCall('policies', policies.deleted, removeFrom('policies')),
  readCall('rules', rules.read),
  createCall('rules', rules.created, 'create', createRule),
  updateCall('rules', rules.updated, updateRule),
  removeCall('rules', rules.deleted, removeFrom('rules')),
]
