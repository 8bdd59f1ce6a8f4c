/** Records of the inventory of agents, each table of one agent, and of what a call returns, or clears, for many agents. */
import type { Endpoint, InventoryKind, NewerRows, Param } from '../endpoint.ts'
import { cacheIn } from '../schemas/shared.ts'
import { ciscatFilters } from './scans.ts'
import { agentsOrAll, amount, digits, master, param, query, read, rows, word, write } from './shared.ts'
import { integer, number, oneOf, text } from './value.ts'

type Filters = Readonly<Record<string, Param>>

interface Table {
  /** The last part of the path. */
  readonly part: Extract<InventoryKind, NewerRows>
  /** What a row is, such as `packages`. */
  readonly what: string
  /** The same of many agents. Absent: as of one. */
  readonly whatOfMany?: string
  readonly filters: Filters
  /** Filters that only the read of one agent has, or has in another form. */
  readonly filtersOfOne?: Filters
}

/** An agent has one row, so the read of one agent has no filters. */
const tablesOfOneRow: readonly (Omit<Table, 'part'> & { readonly part: 'hardware' | 'os' })[] = [
  {
    part: 'hardware',
    what: 'hardware',
    filters: {
      'ram.free': amount('free memory in KiB'),
      'ram.total': amount('memory in KiB'),
      'cpu.cores': param('number of cores', integer({ minimum: 1 })),
      'cpu.mhz': param('frequency of the processor in MHz', number({ minimum: 1 })),
      'cpu.name': param('name of the processor', text()),
      board_serial: word('serial number of the board'),
    },
  },
  {
    part: 'os',
    what: 'operating system',
    whatOfMany: 'operating systems in the inventories',
    filters: {
      'os.name': word('name of the operating system'),
      architecture: word('architecture'),
      'os.version': word('version of the operating system'),
      version: word('build of the operating system'),
      release: word('release of the operating system'),
    },
  },
]

const tables: readonly Table[] = [
  { part: 'hotfixes', what: 'hotfixes', filters: { hotfix: param('hotfix', text()) } },
  {
    part: 'netaddr',
    what: 'network addresses',
    filters: {
      proto: word('protocol'),
      address: word('address'),
      broadcast: word('broadcast address'),
      netmask: word('network mask'),
    },
    filtersOfOne: { iface: word('network interface') },
  },
  {
    part: 'netiface',
    what: 'network interfaces',
    filters: {
      name: word('name of the interface'),
      adapter: word('adapter'),
      type: word('type of the interface'),
      state: word('state of the interface'),
      mtu: amount('maximum transmission unit'),
      'tx.packets': amount('packets sent'),
      'rx.packets': amount('packets received'),
      'tx.bytes': amount('bytes sent'),
      'rx.bytes': amount('bytes received'),
      'tx.errors': amount('errors while sending'),
      'rx.errors': amount('errors while receiving'),
      'tx.dropped': amount('packets dropped while sending'),
      'rx.dropped': amount('packets dropped while receiving'),
    },
    filtersOfOne: { type: param('type of the interface', text()) },
  },
  {
    part: 'netproto',
    what: 'network protocols',
    filters: {
      iface: word('network interface'),
      type: word('type of the protocol'),
      gateway: word('gateway'),
      dhcp: param('whether DHCP is used', {
        ...oneOf('enabled', 'disabled', 'unknown', 'BOOTP'),
        description: 'DHCP status',
        reference: 'dhcp',
      }),
    },
  },
  {
    part: 'packages',
    what: 'packages',
    filters: {
      vendor: param('vendor', text()),
      name: word('name of the package'),
      architecture: word('architecture'),
      format: word('package format'),
      version: param('version of the package', text()),
    },
  },
  {
    part: 'ports',
    what: 'ports',
    filters: {
      pid: digits('process id'),
      protocol: word('protocol'),
      'local.ip': word('local address'),
      'local.port': digits('local port'),
      'remote.ip': word('remote address'),
      tx_queue: digits('bytes that wait to be sent'),
      state: word('state of the connection'),
      process: word('name of the process'),
    },
  },
  {
    part: 'processes',
    what: 'processes',
    filters: {
      pid: digits('process id'),
      state: word('state of the process'),
      ppid: digits('id of the parent process'),
      egroup: word('effective group'),
      euser: word('effective user'),
      fgroup: word('group of the file system'),
      name: word('name of the process'),
      nlwp: digits('number of threads'),
      pgrp: digits('process group'),
      priority: digits('priority'),
      rgroup: word('real group'),
      ruser: word('real user'),
      sgroup: word('saved group'),
      suser: word('saved user'),
    },
  },
]

/** Tables that no call returns for many agents, without filters of their own. */
const tablesSince414 = [
  { part: 'users', what: 'users' },
  { part: 'groups', what: 'user groups' },
  { part: 'browser_extensions', what: 'browser extensions' },
  { part: 'services', what: 'services' },
] as const

const reading = { permission: 'syscollector:read', rights: ['syscollector:read on agent:id:{agent_list}'] } as const
const ofOne = {
  ...reading,
  section: 'Syscollector',
  target: master('agentOwner'),
  cache: cacheIn('syscollector', 'syscollector:{agent_id}', 'syscollector:*'),
} as const
const ofMany = { section: 'Experimental', experimental: true, target: master('several') } as const

export const experimental: readonly Endpoint[] = [
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
  }),
]

export const inventory: readonly Endpoint[] = [
  ...tablesOfOneRow.map(({ part, what }) =>
    read<string>(`/syscollector/:agent_id/${part}`, `Get the ${what} of an agent`, {
      ...ofOne,
      query: query('select'),
    }),
  ),
  ...tables.map(({ part, what, filters, filtersOfOne = {} }) =>
    read<string>(`/syscollector/:agent_id/${part}`, `List the ${what} of an agent`, {
      ...ofOne,
      query: query(...rows, 'select', filters, filtersOfOne, 'q', 'distinct@4.7'),
      snapshot: part,
    }),
  ),
  ...tablesSince414.map(({ part, what }) =>
    read<string>(`/syscollector/:agent_id/${part}`, `List the ${what} on an agent`, {
      ...ofOne,
      query: query(...rows, 'select', 'q', 'distinct'),
      releases: { since: '4.14' },
      snapshot: 'pages',
    }),
  ),
  ...[...tablesOfOneRow, ...tables].map(({ part, what, whatOfMany = what, filters }) =>
    read<string>(`/experimental/syscollector/${part}`, `List the ${whatOfMany} of agents`, {
      ...reading,
      ...ofMany,
      withoutLost: { list: 'agents_list', message: 'Some syscollector information was not returned' },
      query: query(...rows, 'agents_list', 'select', filters),
      cache: cacheIn('syscollector', 'collection:syscollector', 'syscollector:*'),
    }),
  ),
]
