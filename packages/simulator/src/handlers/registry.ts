/** The agent registry: the manager's key file with its registration daemon (codes 90xx). */

import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { justNow, makeKey } from '../agent-state.ts'
import { matchRows } from '../data/collect.ts'
import { randomFor } from '../data/random.ts'
import { FrameworkError, type SimAgent, type SimHandlers, type SimRequest, type World } from '../model.ts'
import { refusal } from '../texts.ts'
import { agentRows, findAgent } from './agents.ts'
import { affected, type Failure, failureOf } from './outcome.ts'

interface Newcomer {
  readonly name: string
  readonly ip: string
  /** Seconds without a keepalive after which a conflicting agent is replaced; negative: never. */
  readonly force: number
  readonly id?: string
  readonly secret?: string
}

/** Returns `{id, key}` in this order: shell clients cut the response by position. */
function register(world: World, newcomer: Newcomer): { id: string; key: string } {
  const { name, ip, force } = newcomer
  if (name.length > 128) throw refusal(1738)
  const inTheWay = [...world.agents.values()].filter((agent) => rivals(agent, newcomer))
  for (const agent of inTheWay) {
    if (force >= 0 && agent.id !== '000' && silentFor(agent, world) >= force) continue
    throw refusal(agent.name === name ? 9008 : agent.id === newcomer.id ? 9012 : 9007)
  }
  const id = newcomer.id ?? freeId(world)
  for (const agent of inTheWay) world.agents.delete(agent.id)
  const secret = newcomer.secret ?? randomFor(world.seed, 'key', id, world.now().getTime()).hex(64)
  const key = makeKey(id, name, ip, secret)
  const agent = { id, name, ip, registerIP: ip, key, dateAdd: justNow(world.now()), groups: [], restarts: 0 }
  insertInOrder(world, { ...agent, cleared: new Set() })
  return { id, key }
}

function rivals(agent: SimAgent, { name, ip, id }: Newcomer): boolean {
  // The manager itself is not in the key file, but its name is in use.
  return agent.name === name || agent.id === id || (ip !== 'any' && agent.ip === ip && agent.id !== '000')
}

/** Returns the seconds since the last keepalive. */
function silentFor(agent: SimAgent, world: World): number {
  return (world.now().getTime() - (agent.lastKeepAlive ?? agent.dateAdd).getTime()) / 1000
}

export function freeId(world: World): string {
  const highest = Math.max(...[...world.agents.keys()].map(Number))
  return String(highest + 1).padStart(3, '0')
}

/** `agents` is in id order; an inserted id may be in the middle. */
export function insertInOrder(world: World, agent: SimAgent): void {
  const later = [...world.agents.values()].filter((known) => Number(known.id) > Number(agent.id))
  for (const known of later) world.agents.delete(known.id)
  for (const known of [agent, ...later]) world.agents.set(known.id, known)
}

function newcomerOf({ fields, client }: SimRequest): Newcomer {
  const { name, ip, force } = fields
  const address = ip === undefined ? client : String(ip).toLowerCase()
  return { name: String(name), ip: address, force: force === undefined ? -1 : Number(force) }
}

function insert(request: SimRequest) {
  const secret = String(request.fields.key)
  if (secret.length < 64) throw refusal(1709)
  const id = String(request.fields.id).padStart(3, '0')
  return register(request.world, { ...newcomerOf(request), id, secret })
}

/** An unknown id gives 9011, as recorded (not 1701); `000` has no key either. */
function removeOne({ world, params }: SimRequest) {
  const id = params.agent_id ?? ''
  if (id === '000' || !world.agents.delete(id)) {
    return affected(removed, [], [{ id, error: failureOf(refusal(9011)) }])
  }
  return affected(removed, [id])
}

const removed = { all: 'All selected agents were removed', some: 'Some agents were not removed' }

/** Removes only agents that are old enough, also among listed ones. */
function removeMany({ world, query }: SimRequest) {
  const { ids, status = 'all', older_than: olderThan = '7d' } = query
  const request = parseCollectionRequest({ status, older_than: olderThan }, world.now())
  const eligible = new Set(matchRows(agentRows(world), request, sources.agents).map(idOf))
  const removedIds: string[] = []
  const failures: Failure[] = []
  const listed = ids?.split(',').map((id) => id.padStart(3, '0'))
  for (const id of listed ?? eligible) {
    try {
      findAgent(world, id, 'refused')
      if (!eligible.has(id)) throw refusal(1731, notEligible(status, olderThan))
      world.agents.delete(id)
      removedIds.push(id)
    } catch (fault) {
      if (!(fault instanceof FrameworkError)) throw fault
      if (listed !== undefined) failures.push({ id, error: failureOf(fault) })
    }
  }
  const answer = affected(removed, removedIds, failures)
  const totals = failures.length === 0 ? {} : { total_failed_ids: failures.length }
  const msg = removedIds.length + failures.length === 0 ? 'No agents were removed' : answer.msg
  return { ...answer, msg, older_than: olderThan, total_affected_agents: removedIds.length, ...totals }
}

function idOf(row: unknown): string {
  return typeof row === 'object' && row !== null && 'id' in row ? String(row.id) : ''
}

function notEligible(status: string, olderThan: string): string {
  const frame = `the specified time frame 'older_than ${olderThan}' does not apply.`
  return `The agent has a status different to '${status}' or ${frame}`
}

export const registryHandlers: SimHandlers = {
  'POST /agents': (request) => register(request.world, newcomerOf(request)),
  'POST /agents/insert': insert,
  'PUT /agents/:agent_name': ({ world, params }) => {
    return register(world, { name: params.agent_name ?? '', ip: 'any', force: -1 })
  },
  'DELETE /agents': removeMany,
  'DELETE /agents/:agent_id': removeOne,
}
