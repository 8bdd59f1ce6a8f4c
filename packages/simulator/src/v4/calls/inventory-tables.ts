/** The inventories of agents: their fields and their rows. */

import {
  ciscatFields,
  fieldsOf,
  type V4InventoryKind,
  v3Name,
  v4Inventories,
} from '../../../../../src/contracts/v3/inventories.ts'
import { inventoryRows } from '../../data/inventory/rows.ts'
import type { Machine } from '../../data/machine.ts'
import { assessments } from '../../data/scans/ciscat.ts'
import type { Row, SimAgent, World } from '../../model.ts'
import type { Texts } from '../answers.ts'
import type { Item } from '../collection.ts'
import { isBefore, isoOf, releaseOf } from '../rows.ts'

export interface Inventory {
  readonly path: string
  readonly fields: readonly string[]
  /** There is no call over several agents. */
  readonly ofOneOnly?: true
  readonly action: 'syscollector:read' | 'ciscat:read'
  readonly texts: Texts
  readonly cost: number
  /** A page without rows has no total. */
  readonly countsPages?: true
  rowsOf(world: World, machine: Machine, agent: SimAgent): Item[]
}

const syscollectorTexts: Texts = {
  all: 'All specified syscollector information was returned',
  some: 'Some syscollector information was not returned',
  none: 'No syscollector information was returned',
}

/** Agents of the v4 release do not number their scans. `names`: the names of fields by column. */
function v4Row(row: Row, agent: SimAgent, names: ReadonlyMap<string, string>): Item {
  const own = !isV3Agent(agent)
  const item: Record<string, Record<string, unknown> | unknown> = {}
  for (const [column, value] of Object.entries(row)) {
    if (value === undefined) continue
    const [outer = '', inner] = (names.get(column) ?? column).split('.')
    const shown = column === 'scan_time' ? isoOf(String(value)) : column === 'scan_id' && own ? 0 : value
    if (inner === undefined) item[outer] = shown
    else item[outer] = { ...(item[outer] as Item | undefined), [inner]: shown }
  }
  return { ...item, agent_id: agent.id }
}

/** Whether the agent has a release before 4. */
export function isV3Agent(agent: SimAgent): boolean {
  const release = releaseOf(agent)
  return release !== undefined && isBefore(release, [4, 0, 0])
}

type Adapt = (item: Item, agent: SimAgent) => Item

/** Differences in what agents of the v4 release report. They report blanks for what they do not know. */
const adaptations: Partial<Record<V4InventoryKind, Adapt>> = {
  hardware: (item, agent) => {
    if (isV3Agent(agent)) return item
    const { mhz, ...cpu } = item.cpu as Readonly<Record<string, number>>
    const serial = item.board_serial === 'unknown' ? ' ' : item.board_serial
    return { ...item, cpu: { ...cpu, mhz: Math.floor(mhz ?? 0) }, board_serial: serial }
  },
  packages: (item, agent) => {
    if (isV3Agent(agent)) return { location: '', ...item }
    return { location: ' ', install_time: ' ', ...item }
  },
  ports: (item, agent) => (isV3Agent(agent) ? item : { pid: 0, ...item }),
}

export function inventory(kind: V4InventoryKind): Inventory {
  const { ofOneSince } = v4Inventories[kind]
  const fields = namesOf(v4Inventories[kind].fields)
  const names = new Map(fields.map((name) => [v3Name(name), name]))
  return {
    path: `/syscollector/{agent_id}/${kind}`,
    fields,
    ...(ofOneSince && { ofOneOnly: true }),
    action: 'syscollector:read',
    texts: syscollectorTexts,
    cost: kind === 'packages' ? 185 : 12,
    rowsOf: (world, machine, agent) => {
      const adapt = adaptations[kind] ?? ((item) => item)
      return inventoryRows(world.seed, machine, kind).map((row) => adapt(v4Row(row, agent, names), agent))
    },
  }
}

function namesOf(fields: string): readonly string[] {
  return fieldsOf(fields).map(([name]) => name)
}

export const ciscat: Inventory = {
  path: '/ciscat/{agent_id}/results',
  fields: namesOf(ciscatFields),
  action: 'ciscat:read',
  texts: {
    all: 'All CISCAT results were returned',
    some: 'Some CISCAT results were not returned',
    none: 'No CISCAT results were returned',
  },
  cost: 12,
  countsPages: true,
  // The agent's own text of the time is stored.
  rowsOf: (_, machine, agent) =>
    assessments(machine).map(({ scan_id, scan_time, ...rest }) => {
      return { scan: { id: scan_id, time: scan_time }, ...rest, agent_id: agent.id }
    }),
}
