/** Applies the permissions of a user: names that are not allowed fail, and collections are cut to what is allowed. */
import type { SimAgent, World } from '../model.ts'
import type { Failed } from './answers.ts'
import type { Fields } from './bodies.ts'
import { V4Error } from './errors.ts'
import type { Call, Need } from './model.ts'
import { membersOf, type Texts } from './parameters.ts'
import type { Rights } from './rbac/access.ts'

export interface Request {
  readonly params: Texts
  readonly query: Texts
  readonly fields: Fields
}

export interface Permitted {
  readonly query: Texts
  readonly failed: readonly Failed[]
}

/** Returns the query with the allowed names only. Throws 4000 if nothing that was named is allowed. */
export function permit(call: Call, request: Request, rights: Rights, world: World, node: string): Permitted {
  if (rights.unlimited) return { query: request.query, failed: [] }
  let { query } = request
  const failed: Failed[] = []
  for (const need of call.needs) {
    const named = namesOf(need, { ...request, query }, node)
    if (named === undefined) continue
    const denied = named.filter((name) => !mayNamed(rights, need, name, world))
    if (denied.length === 0) continue
    const error = new V4Error(4000, `Resource type: ${need.type}`)
    // The API process itself refuses, before a node executes the call.
    error.nodes = { 'unknown-node': error.message }
    if (denied.length === named.length) throw error
    failed.push(...denied.map((id) => ({ id, error })))
    if (typeof need.named === 'object') {
      query = { ...query, [need.named.as]: named.filter((name) => !denied.includes(name)).join(',') }
    }
  }
  return { query, failed }
}

/** Returns the names of the objects; undefined: the answer is cut to what is allowed. */
function namesOf({ named }: Need, { params, query, fields }: Request, node: string): readonly string[] | undefined {
  if (named === 'none') return undefined
  if (named === 'whole') return ['*']
  if (named === 'node') return [params.node_id ?? node]
  if (named.in === 'path') return [params[named.as] ?? '']
  if (named.in === 'body') return [String(fields[named.as] ?? '')]
  const names = membersOf(query[named.as])
  return names === undefined || names.includes('all') ? undefined : names
}

function mayNamed(rights: Rights, { action, type }: Need, name: string, world: World): boolean {
  return rights.may(action, type, name, type === 'agent:id' ? groupsOf(world.agents.get(name)) : [])
}

export function groupsOf(agent: SimAgent | undefined): readonly string[] {
  return agent?.groups ?? []
}

/** Whether the user may do what a call does with an agent. */
export function agentFilter(call: Call, rights: Rights): (agent: SimAgent) => boolean {
  const need = call.needs.find(({ type }) => type === 'agent:id')
  if (rights.unlimited || need === undefined) return () => true
  return (agent) => rights.may(need.action, 'agent:id', agent.id, agent.groups)
}

/** Whether the user may do what a call does with an object other than an agent. */
export function nameFilter(call: Call, rights: Rights): (id: string) => boolean {
  const need = call.needs.find(({ type }) => type !== 'agent:id')
  if (rights.unlimited || need === undefined) return () => true
  return (id) => rights.may(need.action, need.type, id)
}
