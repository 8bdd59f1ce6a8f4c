/** Registration and deletion of agents. */
import { isIP } from 'node:net'
import { justNow, makeKey } from '../../agent-state.ts'
import { randomFor } from '../../data/random.ts'
import { freeId, insertInOrder } from '../../handlers/registry.ts'
import type { SimAgent, World } from '../../model.ts'
import { type Answer, affected, type Failed } from '../answers.ts'
import type { Fields } from '../bodies.ts'
import { matching } from '../collection.ts'
import { type ErrorCode, V4Error } from '../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { agentRows, isActive, statusWord } from '../rows.ts'
import { agentTableAt, canonical, filterAgents, isOlderThan } from './agent-table.ts'
import { later } from './later.ts'

interface Newcomer {
  readonly name: string
  readonly ip: string
  readonly id?: string
  readonly secret?: string
  readonly force: Fields | undefined
}

const PERIODS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1, '': 1 }

function secondsOf(period: unknown): number {
  const [, amount = '3600', unit = ''] = /^(\d+)([dhms]?)$/.exec(String(period ?? '1h')) ?? []
  return Number(amount) * (PERIODS[unit] ?? 1)
}

/** Whether a registration may replace an agent. Without `force`, none does. */
function mayReplace(agent: SimAgent, force: Fields | undefined, world: World): boolean {
  if (force === undefined || force.enabled === false || agent.id === '000') return false
  const ageOf = (moment: Date) => (world.now().getTime() - moment.getTime()) / 1000
  if (ageOf(agent.dateAdd) < secondsOf(force.after_registration_time)) return false
  const { enabled = true, value } = (force.disconnected_time ?? {}) as Fields
  if (enabled === false || agent.lastKeepAlive === undefined) return true
  return !isActive(agent, world.now()) && ageOf(agent.lastKeepAlive) >= secondsOf(value)
}

/** The manager itself is in the way only with its name. */
function register(asked: Asked, { name, ip, id, secret, force }: Newcomer): Answer {
  const { world } = asked
  const isLater = hasRelease5(asked)
  if (name.length > 128) throw new V4Error(1738)
  const others = [...world.agents.values()]
  const inTheWay: [ErrorCode, string | undefined, SimAgent[]][] = [
    [1708, id, others.filter((agent) => agent.id === id)],
    [1706, ip, others.filter((agent) => ip !== 'any' && agent.ip === ip && agent.id !== '000')],
    [1705, name, others.filter((agent) => agent.name === name)],
  ]
  // Release 5.0 looks at the name first.
  if (isLater) inTheWay.reverse()
  if (ip !== 'any' && isIP(ip) === 0) throw new V4Error(1706, ip)
  for (const [code, extra, agents] of inTheWay) {
    if (agents.some((agent) => !mayReplace(agent, force, world))) throw new V4Error(code, extra)
  }
  const given = id ?? freeId(world)
  for (const agent of inTheWay.flatMap(([, , agents]) => agents)) world.agents.delete(agent.id)
  const key = makeKey(given, name, ip, secret ?? randomFor(world.seed, 'key', given, world.now().getTime()).hex(64))
  const agent = { id: given, name, ip, registerIP: ip, key, dateAdd: justNow(world.now()), restarts: 0 }
  insertInOrder(world, { ...agent, groups: isLater ? ['default'] : [], cleared: new Set() })
  return { kind: 'data', data: { id: given, key } }
}

function newcomerOf({ fields }: Asked): Newcomer {
  const { name, ip, force } = fields
  return {
    name: String(name),
    ip: ip === undefined ? 'any' : String(ip).toLowerCase(),
    force: force as Fields | undefined,
  }
}

function insert(asked: Asked) {
  const { id, key } = asked.fields
  return register(asked, {
    ...newcomerOf(asked),
    ...(id === undefined ? {} : { id: String(id) }),
    ...(key === undefined ? {} : { secret: String(key) }),
  })
}

/** With `all`, agents that do not match are left out; named ones fail. */
function remove(asked: Asked) {
  const { world, query, allows } = asked
  const { status = 'all', older_than: olderThan = '7d', q } = query
  const now = world.now()
  const statuses = status.toLowerCase().split(',')
  const agents = [...world.agents.values()].filter((agent) => agent.id !== '000' && allows(agent))
  const found = matching(
    agentRows(filterAgents(agents, withoutStatus(asked)), asked),
    agentTableAt(asked),
    q === undefined ? {} : { q },
    now,
  )
  const matched = new Set(found.map(({ id }) => id))
  const isEligible = (agent: SimAgent) =>
    matched.has(agent.id) &&
    (statuses.includes('all') || statuses.includes(statusWord(agent, now))) &&
    isOlderThan(agent, olderThan, now)
  const names = membersOf(query.agents_list) ?? []
  const all = names.includes('all')
  const removed: string[] = []
  const failed: Failed[] = []
  if (all) removed.push(...agents.filter(isEligible).map(({ id }) => id))
  for (const id of all ? [] : new Set(names)) {
    // An agent whose id has more zeros than three digits need is never found.
    const agent = world.agents.get(canonical(id))
    if (agent === undefined) failed.push({ id, error: new V4Error(1701) })
    else if (agent.id === '000') failed.push({ id, error: new V4Error(1703) })
    else if (isEligible(agent)) removed.push(agent.id)
    else failed.push({ id, error: new V4Error(1731, requirements(statuses, olderThan)) })
  }
  later(world.databaseDelay, () => {
    for (const id of removed) world.agents.delete(id)
  })
  return affected(removed, { failed })
}

function withoutStatus(asked: Asked): Asked {
  const { status: _, older_than: __, ...query } = asked.query
  return { ...asked, query }
}

function requirements(statuses: readonly string[], olderThan: string): string {
  const named = statuses.map((status) => `'${status}'`).join(', ')
  return `some of the requirements are not met -> status: [${named}], older_than: ${olderThan}`
}

const creates = { action: 'agent:create', type: '*:*', named: 'whole' } as const

export const registryCalls: readonly Call[] = [
  {
    method: 'POST',
    path: '/agents',
    // A number in place of the object makes the API fail.
    crashes: (body) => /"force" *: *\d/.test(body),
    runs: 'master',
    needs: [creates],
    texts: NO_TEXTS,
    run: (asked) => register(asked, newcomerOf(asked)),
  },
  {
    method: 'POST',
    path: '/agents/insert',
    runs: 'master',
    needs: [creates],
    texts: NO_TEXTS,
    run: insert,
  },
  {
    method: 'POST',
    path: '/agents/insert/quick',
    runs: 'master',
    needs: [creates],
    texts: NO_TEXTS,
    run: (asked) => register(asked, { name: asked.query.agent_name ?? '', ip: 'any', force: undefined }),
  },
  {
    method: 'DELETE',
    path: '/agents',
    runs: 'master',
    needs: [{ action: 'agent:delete', type: 'agent:id', named: { in: 'query', as: 'agents_list' } }],
    texts: {
      all: 'All selected agents were deleted',
      some: 'Some agents were not deleted',
      none: 'No agents were deleted',
    },
    run: remove,
  },
]
