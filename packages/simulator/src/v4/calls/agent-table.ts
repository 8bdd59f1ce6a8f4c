/** What calls about agents share: the fields and filters of agents, and how named agents fail one by one. */
import type { SimAgent } from '../../model.ts'
import { type Answer, affected, type Failed } from '../answers.ts'
import { fieldOf, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { agentRows, compareSums, type Place, statusWord } from '../rows.ts'

const agentTable: Table = {
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
  keepsTies: { exceptOf: ['name', 'ip'] },
  unshown: ['internal_key'],
  sortedBy: { id: ['id'], 'os.version': ['os.major', 'os.minor'] },
}

const agentTableOf5: Table = {
  ...agentTable,
  fields: [
    ...['dateAdd', 'disconnection_time', 'group', 'id', 'ip', 'lastKeepAlive', 'name', 'os.arch', 'os.major'],
    ...[
      'os.minor',
      'os.name',
      'os.platform',
      'os.type',
      'os.version',
      'registerIP',
      'status',
      'status_code',
      'version',
    ],
  ],
}

/** Returns the fields of agents at a node. */
export function agentTableAt(place: Place): Table {
  return hasRelease5(place) ? agentTableOf5 : agentTable
}

/** `internal_key` is searched, but it is shown only if it is selected. */
export function shownFieldsAt(place: Place): readonly string[] {
  return agentTableAt(place).fields.filter((field) => field !== 'internal_key')
}

/** Filters of agents whose values must be equal, but for case. A release refuses those that it does not have. */
const equalFilters = [
  ...['os.type', 'os.platform', 'os.version', 'os.major', 'os.minor', 'os.arch', 'os.name', 'manager', 'node_name'],
  ...['name', 'ip', 'registerIP'],
]
export const agentFilters = [...equalFilters, 'version', 'group']

const PERIODS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, '': 1000 }

export function isOlderThan(agent: SimAgent, period: string, now: Date): boolean {
  const [, amount = '0', unit = ''] = /^(\d+)([dhms]?)$/.exec(period) ?? []
  const seen = (agent.lastKeepAlive ?? agent.dateAdd).getTime()
  return seen < now.getTime() - Number(amount) * (PERIODS[unit] ?? 1000)
}

/** Returns the agents that the named filters leave. Filters ignore case. */
export function filterAgents(agents: readonly SimAgent[], place: Asked): SimAgent[] {
  const { world, query } = place
  const now = world.now()
  const { group, status, older_than: olderThan, version, group_config_status: synced } = query
  const asked = equalFilters.filter((name) => query[name] !== undefined)
  const statuses = membersOf(status?.toLowerCase())
  const rows = asked.length === 0 ? undefined : agentRows(agents, place)
  const isSynced = compareSums(world)
  return agents.filter((agent, at) => {
    if (group !== undefined && !agent.groups.includes(group)) return false
    if (statuses !== undefined && !statuses.includes('all') && !statuses.includes(statusWord(agent, now))) return false
    if (olderThan !== undefined && !isOlderThan(agent, olderThan, now)) return false
    if (version !== undefined && !sameVersion(agent.version, version)) return false
    if (synced !== undefined && (synced === 'synced') !== isSynced(agent)) return false
    const row = rows?.[at] ?? {}
    return asked.every((name) => textOf(fieldOf(row, name)) === query[name]?.toLowerCase())
  })
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value).toLowerCase()
}

/** `Wazuh v4.5.4`, `v4.5.4` and `4.5.4` are the same version. */
function sameVersion(version: string | undefined, asked: string): boolean {
  return version !== undefined && bare(version) === bare(asked)
}

function bare(version: string): string {
  return version.toLowerCase().replace(/^(?:wazuh )?v?/, '')
}

/** `0001` is the agent `001`. */
export function canonical(id: string): string {
  return id.replace(/^0+(?=\d{3,}$)/, '')
}

/** Runs for the agent of the path; an unknown agent is a failed item. */
export function ofAgent(run: (asked: Asked, agent: SimAgent) => Answer): Call['run'] {
  return (asked) => {
    const id = asked.params.agent_id ?? ''
    const agent = asked.world.agents.get(canonical(id))
    return agent === undefined ? affected([], { failed: [{ id, error: new V4Error(1701) }] }) : run(asked, agent)
  }
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
      if (agent === undefined) throw new V4Error(1701)
      if (agent.id === '000' && manager === 'refused') throw new V4Error(1703)
      items.push(itemOf(agent))
    } catch (error) {
      if (!(error instanceof V4Error)) throw error
      failed.push({ id, error })
    }
  }
  return affected(items, { failed })
}
