/** The calls that give roles to users, and policies and rules to roles. */
import { affected, type Failed } from '../../answers.ts'
import { type ErrorCode, V4Error } from '../../errors.ts'
import type { Asked, Call } from '../../model.ts'
import type { Security } from '../../rbac/security.ts'
import { bothTexts, idsOf, isReserved, type Kind, kinds, need } from './objects.ts'

interface Link {
  readonly from: 'users' | 'roles'
  readonly to: Exclude<Kind, 'users'>
  /** The errors of a link that exists, and of one that does not. */
  readonly exists: ErrorCode
  readonly missing: ErrorCode
  /** The plural in texts. */
  readonly word: string
  /** Whether the linked object itself may belong to every installation. */
  readonly builtInTo: boolean
}

const links: readonly Link[] = [
  { from: 'users', to: 'roles', exists: 4017, missing: 4016, word: 'roles', builtInTo: true },
  { from: 'roles', to: 'policies', exists: 4011, missing: 4010, word: 'policies', builtInTo: true },
  { from: 'roles', to: 'rules', exists: 4023, missing: 4024, word: 'security rules', builtInTo: false },
]

/** Returns the numbers of the holder, which a change replaces. */
function holderOf(security: Security, { from, to }: Link, id: number) {
  const holder = security.store[from].get(id) as Record<string, unknown> | undefined
  return holder === undefined ? undefined : (holder as Record<typeof to, number[]>)
}

function nameOf({ from }: Link, security: Security, id: number): string {
  return from === 'users' ? `user ${security.store.users.get(id)?.name ?? id}` : `role ${id}`
}

function faultOf(link: Link, security: Security, id: number, to: number): ErrorCode | undefined {
  if (isReserved(id) || (!link.builtInTo && isReserved(to))) return 4008
  if (!security.store[link.from].has(id)) return kinds[link.from].missing
  return undefined
}

function change(link: Link, asked: Asked, how: 'add' | 'remove') {
  const { security, params, query } = asked
  const id = Number(params[kinds[link.from].list.slice(0, -1)])
  // The API of the manager reads a number here, and fails.
  if (how === 'add' && query[kinds[link.to].list] === 'all') throw new V4Error(1000)
  const holder = holderOf(security, link, id)
  if (how === 'remove' && link.from === 'users' && holder === undefined) throw new V4Error(5001)
  const { ids, all } = idsOf(asked, link.to)
  const failed: Failed[] = []
  let changed = 0
  let position = query.position === undefined ? undefined : Number(query.position)
  for (const to of all ? [...(holder?.[link.to] ?? [])] : ids) {
    const fault = faultOf(link, security, id, to)
    if (fault !== undefined) {
      failed.splice(0, failed.length, { id, error: new V4Error(fault) })
      break
    }
    const numbers = holder?.[link.to] ?? []
    const isLinked = numbers.includes(to)
    if (!security.store[link.to].has(to)) failed.push({ id: to, error: new V4Error(kinds[link.to].missing) })
    else if (isLinked === (how === 'add')) {
      failed.push({ id: to, error: new V4Error(how === 'add' ? link.exists : link.missing) })
    } else if (holder !== undefined) {
      const left = numbers.filter((one) => one !== to)
      holder[link.to] = how === 'add' ? left.toSpliced(position ?? left.length, 0, to) : left
      if (position !== undefined) position += 1
      changed += 1
    }
  }
  if (changed > 0) security.end({ [link.from]: [id] })
  const answer = affected(changed > 0 ? [kinds[link.from].itemOf(security.store, id)] : [], { failed })
  return { ...answer, texts: textsOf(link, how, nameOf(link, security, id)) }
}

function textsOf({ word }: Link, how: 'add' | 'remove', name: string) {
  if (how === 'add') {
    const none = `No link was created to ${name}`
    return bothTexts(`All ${word} were linked to ${name}`, none, `Some ${word} were not linked to ${name}`)
  }
  const single = word.replace(/ies$/, 'y').replace(/s$/, '')
  const all = `All ${word} were unlinked from ${name}`
  return bothTexts(all, `No ${single} was unlinked from ${name}`, `Some ${word} were not unlinked from ${name}`)
}

function callsOf(link: Link): Call[] {
  const { from, to } = link
  const path = `/security/${from}/{${kinds[from].list.slice(0, -1)}}/${to}`
  const common = { path, runs: 'master', texts: bothTexts('', '') } as const
  const needs = (action: string) => [need(action, from, 'path'), need(action, to, 'query')]
  return [
    { ...common, method: 'POST', needs: needs('update'), run: (asked) => change(link, asked, 'add') },
    { ...common, method: 'DELETE', needs: needs('delete'), run: (asked) => change(link, asked, 'remove') },
  ]
}

export const linkCalls: readonly Call[] = links.flatMap(callsOf)
