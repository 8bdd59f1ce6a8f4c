/** What the calls about users, roles, policies and rules share. */
import { type Affected, affected, type Failed, type Texts } from '../../answers.ts'
import { collectRows, type Item, type Table } from '../../collection.ts'
import { type ErrorCode, V4Error } from '../../errors.ts'
import type { Asked, Call, Need } from '../../model.ts'
import { membersOf } from '../../parameters.ts'
import { isBuiltIn, type Store } from '../../rbac/store.ts'

export type Kind = 'users' | 'roles' | 'policies' | 'rules'

interface KindOf {
  /** `user_ids` */
  readonly list: string
  readonly type: `${string}:id`
  readonly missing: ErrorCode
  readonly table: Table
  itemOf(store: Store, id: number): Item
}

const named = (more: string): Table => ({
  kind: 'list',
  fields: ['id', 'name', ...more.split(' ')],
  sortable: ['id', 'name'],
  keys: ['id'],
})

export const kinds: Readonly<Record<Kind, KindOf>> = {
  users: {
    list: 'user_ids',
    type: 'user:id',
    missing: 5001,
    table: {
      kind: 'list',
      fields: ['id', 'username', 'allow_run_as', 'roles'],
      sortable: ['username', 'id'],
      keys: ['id'],
    },
    itemOf: ({ users }, id) => {
      const user = users.get(id)
      return { id, username: user?.name, allow_run_as: user?.runAs, roles: user?.roles ?? [] }
    },
  },
  roles: {
    list: 'role_ids',
    type: 'role:id',
    missing: 4002,
    table: named('policies users rules'),
    itemOf: (store, id) => {
      const { name, policies = [], rules = [] } = store.roles.get(id) ?? {}
      return { id, name, policies, users: store.usersOf(id).map((user) => user.id), rules }
    },
  },
  policies: {
    list: 'policy_ids',
    type: 'policy:id',
    missing: 4007,
    table: named('policy roles'),
    itemOf: (store, id) => {
      const { name, policy } = store.policies.get(id) ?? {}
      return { id, name, policy, roles: store.rolesWith('policies', id).map((role) => role.id) }
    },
  },
  rules: {
    list: 'rule_ids',
    type: 'rule:id',
    missing: 4022,
    table: named('rule roles'),
    itemOf: (store, id) => {
      const { name, rule } = store.rules.get(id) ?? {}
      return { id, name, rule, roles: store.rolesWith('rules', id).map((role) => role.id) }
    },
  },
}

export const bothTexts = (all: string, none: string, some = none): Texts => ({ all, some, none })

export function need(action: string, kind: Kind, where: 'path' | 'query'): Need {
  const { list, type } = kinds[kind]
  return { action: `security:${action}`, type, named: { in: where, as: where === 'path' ? list.slice(0, -1) : list } }
}

export const wholeNeed = (action: string): Need => ({ action: `security:${action}`, type: '*:*', named: 'whole' })

/** Returns the numbers that a list names; without one, those that the user may see. */
export function idsOf(asked: Asked, kind: Kind): { readonly ids: readonly number[]; readonly all: boolean } {
  const list = membersOf(asked.query[kinds[kind].list])
  if (list !== undefined && !list.includes('all')) return { ids: [...new Set(list.map(Number))], all: false }
  return { ids: [...asked.security.store[kind].keys()].filter((id) => asked.allowsNamed(String(id))), all: true }
}

function read(kind: Kind): Call['run'] {
  return (asked) => {
    const { store } = asked.security
    const { table, itemOf, missing } = kinds[kind]
    const { ids } = idsOf(asked, kind)
    const failed = ids.filter((id) => !store[kind].has(id)).map((id) => ({ id, error: new V4Error(missing) }))
    const rows = ids.filter((id) => store[kind].has(id)).map((id) => itemOf(store, id))
    const { items, total } = collectRows(rows, table, asked.query, asked.world.now())
    return affected(items, { total, failed })
  }
}

/** With `all`, objects that cannot be deleted are left out. `act` deletes one, or returns why not. */
export function removeCall(kind: Kind, texts: Texts, act: (asked: Asked, id: number) => ErrorCode | undefined): Call {
  const run = (asked: Asked): Affected => {
    const { store } = asked.security
    const { ids, all } = idsOf(asked, kind)
    const failed: Failed[] = []
    const items: Item[] = []
    for (const id of ids) {
      const item = kinds[kind].itemOf(store, id)
      const code = store[kind].has(id) ? act(asked, id) : kinds[kind].missing
      if (code === undefined) items.push(item)
      else if (!all) failed.push({ id, error: new V4Error(code) })
    }
    return affected(items, { failed })
  }
  const path = `/security/${kind}`
  return { method: 'DELETE', path, runs: 'master', needs: [need('delete', kind, 'query')], texts, run }
}

export function readCall(kind: Kind, texts: Texts): Call {
  const needs = [need('read', kind, 'query')]
  return { method: 'GET', path: `/security/${kind}`, runs: 'master', needs, texts, run: read(kind) }
}

/** Runs for the object of the path: the item of it, or the failed number. */
export function updateCall(kind: Kind, texts: Texts, act: (asked: Asked, id: number) => ErrorCode | undefined): Call {
  const parameter = kinds[kind].list.slice(0, -1)
  return {
    method: 'PUT',
    path: `/security/${kind}/{${parameter}}`,
    runs: 'master',
    needs: [need('update', kind, 'path')],
    texts,
    run: (asked) => changeOne(asked, kind, Number(asked.params[parameter]), act),
  }
}

export function changeOne(
  asked: Asked,
  kind: Kind,
  id: number,
  act: (asked: Asked, id: number) => ErrorCode | undefined,
): Affected {
  const { store } = asked.security
  const isKnown = store[kind].has(id)
  const code = isKnown ? act(asked, id) : kinds[kind].missing
  if (code !== undefined) return affected([], { failed: [{ id, error: new V4Error(code) }] })
  return affected([kinds[kind].itemOf(store, id)])
}

/** Creates an object; a failure names it by its name. */
export function createCall(
  kind: Kind,
  texts: Texts,
  action: string,
  act: (asked: Asked, name: string) => ErrorCode | number[],
): Call {
  return {
    method: 'POST',
    path: `/security/${kind}`,
    runs: 'master',
    needs: [wholeNeed(action)],
    texts,
    run: (asked) => {
      const { store } = asked.security
      const name = String(asked.fields.name ?? asked.fields.username)
      const result = act(asked, name)
      if (!Array.isArray(result)) return affected([], { failed: [{ id: name, error: new V4Error(result) }] })
      return affected(result.map((id) => kinds[kind].itemOf(store, id)))
    },
  }
}

export function isReserved(id: number): boolean {
  return isBuiltIn({ id })
}
