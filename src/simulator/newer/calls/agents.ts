/** Reads of agents. */
import { managerConfig } from '../../handlers/configuration.ts'
import { handlers } from '../../handlers/index.ts'
import { FrameworkError, type SimAgent } from '../../model.ts'
import { affected, type Failed } from '../answers.ts'
import { collectRows, cut, fieldOf, type Item, matching, pick, sortRows, type Table } from '../collection.ts'
import { NewerError } from '../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import {
  agentId,
  agentsList,
  choice,
  list,
  membersOf,
  type Params,
  paging,
  querying,
  selecting,
  text,
} from '../parameters.ts'
import { agentRows, isActive, isBefore, isSynced, releaseOf, statusWord } from '../rows.ts'
import { activeConfigurationParams } from './component-names.ts'
import { newerValue } from './component-values.ts'

export const agentTable: Table = {
  kind: 'database',
  fields: [
    ...['id', 'name', 'ip', 'status', 'os.name', 'os.version', 'os.platform', 'version', 'manager', 'dateAdd', 'group'],
    ...['mergedSum', 'configSum', 'os.codename', 'os.major', 'os.minor', 'os.uname', 'os.arch', 'os.build'],
    ...['node_name', 'lastKeepAlive'],
    ...['internal_key', 'registerIP', 'disconnection_time', 'group_config_status'],
  ],
  times: ['dateAdd', 'lastKeepAlive', 'disconnection_time'],
  unsearched: ['status'],
  keys: ['id'],
  order: '+id',
}

/** `internal_key` is searched, but it is shown only if it is selected. */
export const shownFields = agentTable.fields.filter((field) => field !== 'internal_key')

/** Filters of agents by name of the parameter. */
export const agentFilters: Params = {
  ...Object.fromEntries(['os.platform', 'os.version', 'os.name', 'manager', 'version'].map((name) => [name, text()])),
  group: text('group_names'),
  ...Object.fromEntries(['node_name', 'name', 'ip', 'registerIP'].map((name) => [name, text()])),
}

export const statusList = list(undefined, {
  values: ['active', 'pending', 'never_connected', 'disconnected'],
  anyCase: true,
})

const filters: Params = {
  ...agentFilters,
  status: statusList,
  older_than: text('timeframe'),
  group_config_status: choice('synced', 'not synced'),
}

const PERIODS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, '': 1000 }

export function isOlderThan(agent: SimAgent, period: string, now: Date): boolean {
  const [, amount = '0', unit = ''] = /^(\d+)([dhms]?)$/.exec(period) ?? []
  const seen = (agent.lastKeepAlive ?? agent.dateAdd).getTime()
  return seen < now.getTime() - Number(amount) * (PERIODS[unit] ?? 1000)
}

/** Returns the agents that the named filters leave. Filters ignore case. */
export function filterAgents(agents: readonly SimAgent[], { world, query }: Asked): SimAgent[] {
  const now = world.now()
  const { group, status, older_than: olderThan, version, group_config_status: synced } = query
  const equal = Object.keys(agentFilters).filter((name) => name !== 'group' && name !== 'version')
  const asked = equal.filter((name) => query[name] !== undefined)
  const statuses = membersOf(status?.toLowerCase())
  const rows = asked.length === 0 ? undefined : agentRows(agents, world)
  return agents.filter((agent, at) => {
    if (group !== undefined && !agent.groups.includes(group)) return false
    if (statuses !== undefined && !statuses.includes('all') && !statuses.includes(statusWord(agent, now))) return false
    if (olderThan !== undefined && !isOlderThan(agent, olderThan, now)) return false
    if (version !== undefined && !sameVersion(agent.version, version)) return false
    if (synced !== undefined && (synced === 'synced') !== isSynced(agent, world)) return false
    const row = rows?.[at] ?? {}
    return asked.every((name) => textOf(fieldOf(row, name)) === query[name]?.toLowerCase())
  })
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value).toLowerCase()
}

/** `Wazuh v4.5.4`, `v4.5.4` and `4.5.4` are the same version. */
function sameVersion(version: string | undefined, asked: string): boolean {
  return (
    version?.toLowerCase() ===
    `wazuh v${asked
      .toLowerCase()
      .replace(/^wazuh /, '')
      .replace(/^v/, '')}`
  )
}

/** Returns the agents that the user may see: the listed ones, or all. */
function seenAgents({ world, query, allows }: Asked): { agents: SimAgent[]; failed: Failed[] } {
  const ids = membersOf(query.agents_list)
  if (ids === undefined) return { agents: [...world.agents.values()].filter(allows), failed: [] }
  const found = [...new Set(ids)].map((id) => world.agents.get(id) ?? world.agents.get(canonical(id)))
  // An id with more zeros finds its agent, and fails all the same.
  const unknown = [...new Set(ids)].filter((id) => !world.agents.has(id))
  return {
    agents: found.flatMap((agent) => agent ?? []).filter(allows),
    failed: unknown.map((id) => ({ id, error: new NewerError(1701) })),
  }
}

/** `0001` is the agent `001`. */
export function canonical(id: string): string {
  return id.replace(/^0+(?=\d{3,}$)/, '')
}

export function collectAgents(agents: readonly SimAgent[], asked: Asked, failed: readonly Failed[] = []) {
  const { world, query } = asked
  const rows = agentRows(filterAgents(agents, asked), world)
  const { items, total } = collectRows(
    rows,
    agentTable,
    { ...query, select: query.select ?? shownFields.join(',') },
    world.now(),
  )
  return affected(items, { total, failed })
}

function all(asked: Asked) {
  const { agents, failed } = seenAgents(asked)
  return collectAgents(agents, asked, failed)
}

function noGroup(asked: Asked) {
  const { agents } = seenAgents(asked)
  return collectAgents(
    agents.filter(({ id, groups }) => id !== '000' && groups.length === 0),
    asked,
  )
}

function outdated(asked: Asked) {
  const { world, query } = asked
  const newest = world.version.split('.').map(Number)
  const { agents } = seenAgents(asked)
  const old = agents.filter((agent) => {
    const release = releaseOf(agent)
    return agent.id !== '000' && release !== undefined && isBefore(release, newest)
  })
  const select = 'id,name,version'
  const { items, total } = collectRows(agentRows(old, world), agentTable, { ...query, select }, world.now())
  return affected(items, { total })
}

const UNKNOWN = 'unknown'

/** A field without a value is `unknown`; the total counts agents, not rows. */
function distinct(asked: Asked) {
  const { world, query } = asked
  const fields = membersOf(query.fields) ?? shownFields
  const unknown = fields.filter((field) => !agentTable.fields.includes(field))
  if (unknown.length > 0) {
    throw new NewerError(1724, `Allowed select fields: ${agentTable.fields.join(', ')}. Fields ${unknown.join(', ')}`)
  }
  const found = matching(agentRows(seenAgents(asked).agents, world), agentTable, query, world.now())
  const groups = countDistinct(found, fields)
  const sortable = [...agentTable.fields, 'count']
  const sorted = query.sort === undefined ? groups : sortRows(groups, { ...agentTable, sortable }, query.sort)
  return affected(cut(sorted, query), { total: found.length })
}

export function countDistinct(rows: readonly Item[], fields: readonly string[]): Item[] {
  const groups = new Map<string, { row: Item; count: number }>()
  for (const row of rows) {
    const missing = fields.filter((field) => fieldOf(row, field) === undefined)
    const filled = Object.fromEntries(missing.map((field) => [field, field === 'group' ? [UNKNOWN] : UNKNOWN]))
    const picked = pick(
      { ...row, ...filled },
      fields.filter((field) => filled[field] === undefined || !field.includes('.')),
    )
    const whole = nested(picked, filled)
    const key = JSON.stringify(whole)
    const group = groups.get(key) ?? { row: whole, count: 0 }
    group.count += 1
    groups.set(key, group)
  }
  return [...groups.values()].map(({ row, count }) => ({ ...row, count }))
}

/** Adds dotted fields to an object. */
function nested(row: Item, filled: Readonly<Record<string, unknown>>): Item {
  const result: Record<string, unknown> = { ...row }
  for (const [field, value] of Object.entries(filled)) {
    const [outer = '', inner] = field.split('.')
    if (inner === undefined) result[outer] = value
    else result[outer] = { ...(result[outer] as Item | undefined), [inner]: value }
  }
  return result
}

/** Returns the counts of the agents that the user may see, without the manager. */
export function statusCounts(asked: Asked) {
  const now = asked.world.now()
  const agents = seenAgents({ ...asked, query: {} }).agents.filter(({ id }) => id !== '000')
  const connection = { active: 0, disconnected: 0, never_connected: 0, pending: 0, total: agents.length }
  for (const agent of agents) connection[statusWord(agent, now)] += 1
  const synced = agents.filter((agent) => isSynced(agent, asked.world)).length
  return { connection, configuration: { synced, total: agents.length, not_synced: agents.length - synced } }
}

function platforms(asked: Asked) {
  const found = seenAgents({ ...asked, query: {} }).agents.flatMap(({ os }) => os?.platform ?? [])
  return affected([...new Set(found)].sort())
}

/** Returns the items of each named agent; what `itemOf` throws fails the agent alone. */
export function eachAgent(
  asked: Asked,
  ids: readonly string[],
  itemOf: (agent: SimAgent) => unknown,
  manager: 'allowed' | 'refused' = 'refused',
) {
  const items: unknown[] = []
  const failed: Failed[] = []
  for (const id of ids) {
    try {
      const agent = asked.world.agents.get(id) ?? asked.world.agents.get(canonical(id))
      if (agent === undefined) throw new NewerError(1701)
      if (agent.id === '000' && manager === 'refused') throw new NewerError(1703)
      items.push(itemOf(agent))
    } catch (error) {
      if (!(error instanceof NewerError)) throw error
      failed.push({ id, error })
    }
  }
  return affected(items, { failed })
}

function keys(asked: Asked) {
  return eachAgent(asked, [asked.params.agent_id ?? ''], ({ id, key }) => ({ id, key }))
}

function isSync(asked: Asked) {
  return eachAgent(asked, [asked.params.agent_id ?? ''], (agent) => ({
    id: agent.id,
    synced: isSynced(agent, asked.world),
  }))
}

const configurationOf = handlers['GET /agents/:agent_id/config/:component/:configuration']

/** The daemons of agents answer alike in both layouts. */
function activeConfiguration({ world, node, params }: Asked) {
  const { agent_id: id = '', component = '', configuration = '' } = params
  const agent = world.agents.get(canonical(id))
  if (agent === undefined) throw new NewerError(1701)
  if (agent.id !== '000' && !isActive(agent, world.now())) throw new NewerError(1740)
  const request = {
    world,
    node,
    params: { ...params, agent_id: agent.id },
    query: {},
    fields: {},
    text: '',
    client: '',
  }
  const key = `${component}/${configuration}`
  const isNewer = !isBefore(releaseOf(agent) ?? [0], [4, 0, 0])
  if (key === 'com/logging' && isNewer) return { kind: 'data', data: LOGGING } as const
  try {
    const data = agent.id === '000' ? managerConfig(request) : configurationOf?.(request)
    return { kind: 'data', data: isNewer ? newerValue(`agent ${key}`, data) : data } as const
  } catch (fault) {
    if (!(fault instanceof FrameworkError)) throw fault
    throw new NewerError(1116, `${component}:${configuration}`)
  }
}

const LOGGING = { logging: { plain: 'yes', json: 'no' } }

const readsAgents = {
  action: 'agent:read',
  type: 'agent:id',
  named: { in: 'query', as: 'agents_list' },
} as const
const readsAgent = { action: 'agent:read', type: 'agent:id', named: { in: 'path', as: 'agent_id' } } as const

export const agentTexts = {
  all: 'All selected agents information was returned',
  some: 'Some agents information was not returned',
  none: 'No agent information was returned',
}

export const agentCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/agents',
    query: { agents_list: agentsList, ...paging(), ...selecting, ...querying, ...filters },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    hangsOver: 2500,
    run: all,
  },
  {
    method: 'GET',
    path: '/agents/no_group',
    query: { ...paging(), ...selecting, ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: noGroup,
  },
  {
    method: 'GET',
    path: '/agents/outdated',
    query: { ...paging(), ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: outdated,
  },
  {
    method: 'GET',
    path: '/agents/stats/distinct',
    query: { fields: list('names'), ...paging(), ...querying },
    runs: 'master',
    needs: [readsAgents],
    texts: agentTexts,
    run: distinct,
  },
  {
    method: 'GET',
    path: '/agents/summary/status',
    runs: 'master',
    needs: [readsAgents],
    texts: NO_TEXTS,
    run: (asked) => ({ kind: 'data', data: statusCounts(asked) }),
  },
  {
    method: 'GET',
    path: '/agents/summary/os',
    runs: 'master',
    needs: [readsAgents],
    texts: {
      all: 'Showing the operative system of all specified agents',
      some: 'Could not get the operative system of some agents',
      none: 'Could not get the operative system of the agents',
    },
    run: platforms,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/key',
    params: { agent_id: agentId },
    runs: 'master',
    needs: [readsAgent],
    texts: {
      all: 'Obtained keys for all selected agents',
      some: 'Some agent keys were not obtained',
      none: 'No agent keys were obtained',
    },
    run: keys,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/group/is_sync',
    params: { agent_id: agentId },
    runs: 'master',
    needs: [readsAgent],
    texts: {
      all: 'Sync info was returned for all selected agents',
      some: 'Sync info was not returned for some selected agents',
      none: 'No sync info was returned',
    },
    run: isSync,
  },
  {
    method: 'GET',
    path: '/agents/{agent_id}/config/{component}/{configuration}',
    params: { agent_id: agentId, ...activeConfigurationParams },
    runs: 'owner',
    needs: [readsAgent],
    texts: NO_TEXTS,
    run: activeConfiguration,
  },
]
