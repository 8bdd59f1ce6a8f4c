/** Records of the inventory of agents, each table of one agent, and of what a call returns, or clears, for many agents. */
import type { Param, V4Endpoint } from '../endpoint.ts'
import { cacheIn } from '../schemas/shared.ts'
import { type Inventory, type InventoryKind, inventories, inventoryKinds, v4Inventories } from '../v3/inventories.ts'
import { agentsOrAll, param, query, rows } from './parameters.ts'
import { ciscatFilters } from './scans.ts'
import { master, read, write } from './shared.ts'

const reading = { permission: 'syscollector:read', rights: ['syscollector:read on agent:id:{agent_list}'] } as const
const ofOne = {
  ...reading,
  target: master('agentOwner'),
  cache: cacheIn('syscollector', 'syscollector:{agent_id}', 'syscollector:*'),
} as const
const ofMany = { target: master('several') } as const
/** Offset and limit count the rows of each agent. */
const storedRows = 'none'

export const experimental: readonly V4Endpoint[] = [
  ...(['rootcheck', 'syscheck'] as const).map((scan) =>
    write('DELETE', `/experimental/${scan}`, `Clear the ${scan} results of agents`, {
      ...ofMany,
      permission: `${scan}:clear`,
      rights: [`${scan}:clear on agent:id:{agent_list}`],
      withoutLost: {
        list: 'agents_list',
        message: `${scan === 'rootcheck' ? 'Rootcheck' : 'Syscheck'} database was not cleared on some agents`,
        leftOut: 'every',
      },
      query: { agents_list: agentsOrAll },
      invalidates: [`${scan}:*`],
    }),
  ),
  read('/experimental/ciscat/results', 'List the CIS-CAT results of agents', {
    ...ofMany,
    permission: 'ciscat:read',
    rights: ['ciscat:read on agent:id:{agent_list}'],
    withoutLost: { list: 'agents_list', message: 'Some CISCAT results were not returned' },
    query: query(...rows, 'agents_list', 'select', ciscatFilters),
    cache: cacheIn('ciscat', 'collection:ciscat', 'ciscat:*'),
    storedRows,
  }),
]

/** Filters of one agent only are the last ones. */
function filtersOf({ filters = {} }: Partial<Inventory>, of: 'one' | 'many'): Readonly<Record<string, Param>> {
  const all = Object.entries(filters)
  const ordered = [...all.filter(([, filter]) => !filter.ofOneOnly), ...all.filter(([, filter]) => filter.ofOneOnly)]
  return Object.fromEntries(
    ordered
      .filter(([, { ofOneOnly }]) => of === 'one' || !ofOneOnly)
      .map(([name, { role, value, valueOfOne = value }]) => [name, param(role, of === 'one' ? valueOfOne : value)]),
  )
}

/** Kinds of which each release returns the rows of one agent and of many. */
const ofAllReleases = inventoryKinds.filter((kind) => inventories[kind].ofOneSince === undefined)

function readOfAgent(kind: InventoryKind): V4Endpoint {
  const { single, what } = inventories[kind]
  if (single)
    return read<string>(`/syscollector/:agent_id/${kind}`, `Get the ${what} of an agent`, {
      ...ofOne,
      query: query('select'),
    })
  return read<string>(`/syscollector/:agent_id/${kind}`, `List the ${what} of an agent`, {
    ...ofOne,
    query: query(...rows, 'select', filtersOf(inventories[kind], 'one'), 'q', 'distinct@4.7'),
    snapshot: kind,
  })
}

export const inventory: readonly V4Endpoint[] = [
  ...ofAllReleases.map(readOfAgent),
  ...Object.entries(v4Inventories).flatMap(([kind, later]) =>
    later.ofOneSince === undefined
      ? []
      : read<string>(`/syscollector/:agent_id/${kind}`, `List the ${later.what} on an agent`, {
          ...ofOne,
          query: query(...rows, 'select', filtersOf(later, 'one'), 'q', 'distinct'),
          releases: { since: later.ofOneSince },
          // No real node has named the fields of a later kind.
          snapshot: 'pages',
        }),
  ),
  ...ofAllReleases.map((kind) => {
    const { what, whatOfMany = what } = inventories[kind]
    return read<string>(`/experimental/syscollector/${kind}`, `List the ${whatOfMany} of agents`, {
      ...reading,
      ...ofMany,
      withoutLost: { list: 'agents_list', message: 'Some syscollector information was not returned' },
      query: query(...rows, 'agents_list', 'select', filtersOf(inventories[kind], 'many')),
      cache: cacheIn('syscollector', 'collection:syscollector', 'syscollector:*'),
      storedRows,
    })
  }),
]
