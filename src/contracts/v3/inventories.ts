/**
 * The inventories of agents, one entry for each kind: the rows and filters of both contracts, which the records, the queries
 * and the translations read. This file does not import `endpoint.ts`, which has the names of the kinds from here.
 * Over 200 lines: a table of kinds.
 */
import type { SchemaName } from '../items/index.ts'
import type { Kind } from '../schemas/kinds.ts'
import type { FieldRule } from '../translations/translation.ts'
import { integer, number, oneOf, type Release, text, type Value } from '../v4/value.ts'

export interface Inventory {
  /** What a row is, such as `network addresses`. */
  readonly what: string
  /** The same in the read of the v4 contract over many agents. Absent: as of one. */
  readonly whatOfMany?: string
  /** Of a row, in `items/schemas.json`. */
  readonly schema: SchemaName
  /**
   * The fields of rows in the v4 layout: `cycles#` is a number, `cpu.mhz~` a number with a fraction, all others are texts.
   * Parameters of the v3 contract, and columns of its nodes, are named `cpu_mhz`.
   */
  readonly fields: string
  /** In the order in which the v4 contract checks them, by the names of the fields. */
  readonly filters: Readonly<Record<string, InventoryFilter>>
  /** Error 604 of the v3 contract lists filters of numbers first. */
  readonly listsNumbersFirst?: true
  /** Each agent has one row, an object, so the reads of one agent have neither paging nor filters. */
  readonly single?: true
  /** Whether the record of the v3 contract over all agents has an agent id filter. */
  readonly byAgent?: true
  /** The kind is not part of the interface description. */
  readonly hidden?: true
  /** What else differs between rows of the two layouts. */
  readonly rows?: Readonly<Record<string, FieldRule>>
  /** Fields that no two rows of an agent have in common. Absent: an agent has one row. */
  readonly ties?: readonly string[]
  /** Filters that a node of the v4 layout lacks, or understands in another way, if it is asked for all agents. */
  readonly byEdge?: readonly string[]
  /**
   * The first release with the read of one agent; no release has that of all agents. Absent: each release 4 has both. Release
   * 5.0 has none (`v4/release-5.ts`).
   */
  readonly ofOneSince?: Release
}

/** A kind as the v4 contract needs it. */
type V4Inventory = Partial<Inventory> & Pick<Inventory, 'what' | 'fields'>

interface InventoryFilter {
  /** In the v3 contract. */
  readonly kind: Kind
  readonly role: string
  /** In the v4 contract. */
  readonly value: Value
  /** The same in the read of one agent. */
  readonly valueOfOne?: Value
  /** The v4 contract has the filter only for one agent. */
  readonly ofOneOnly?: true
  /** The v4 contract has the filter, but its nodes do not filter by it. */
  readonly isIgnored?: true
  /** The interface description of the v3 contract does not have the filter here. */
  readonly beyondSeed?: 'one' | 'all'
}

function word(role: string): InventoryFilter {
  return { kind: 'alphanumeric', role, value: text('alphanumeric') }
}

/** In the v4 contract, any text. */
function anyText(role: string): InventoryFilter {
  return { kind: 'alphanumeric', role, value: text() }
}

function digits(role: string): InventoryFilter {
  return { kind: 'numbers', role, value: text('numbers') }
}

function amount(role: string): InventoryFilter {
  return { kind: 'numbers', role, value: integer({ minimum: 0 }) }
}

function since414(what: string, fields: string): V4Inventory {
  return { what, fields: `scan.id# scan.time ${fields}`, ofOneSince: '4.14' }
}

const table = {
  hardware: {
    what: 'hardware',
    schema: 'Hardware',
    fields: 'board_serial cpu.name cpu.cores# cpu.mhz~ ram.total# ram.free# ram.usage# scan.id# scan.time',
    filters: {
      'ram.free': amount('free memory in KiB'),
      'ram.total': amount('memory in KiB'),
      'cpu.cores': { ...amount('number of cores'), value: integer({ minimum: 1 }) },
      'cpu.mhz': { ...anyText('frequency of the processor in MHz'), value: number({ minimum: 1 }) },
      'cpu.name': anyText('name of the processor'),
      board_serial: word('serial number of the board'),
    },
    single: true,
    byAgent: true,
  },
  os: {
    what: 'operating system',
    whatOfMany: 'operating systems in the inventories',
    schema: 'OperatingSystem',
    fields: `hostname os.version os.name architecture os.major os.minor os.build version scan.time scan.id# os_release
      os.display_version os.codename os.platform sysname release`,
    filters: {
      'os.name': word('name of the operating system'),
      architecture: word('architecture'),
      'os.version': word('version of the operating system'),
      version: word('build of the operating system'),
      release: word('release of the operating system'),
    },
    single: true,
    byAgent: true,
    rows: { os_release: { dropped: true }, 'os.display_version': { dropped: true } },
    // The node finds the texts that contain these.
    byEdge: ['os_name', 'os_version'],
  },
  netaddr: {
    what: 'network addresses',
    schema: 'NetworkAddress',
    fields: 'scan.id# iface proto address netmask broadcast',
    filters: {
      iface: { ...word('network interface'), ofOneOnly: true, beyondSeed: 'all' },
      proto: word('protocol'),
      address: word('address'),
      broadcast: word('broadcast address'),
      netmask: word('network mask'),
    },
    ties: ['iface', 'proto', 'address'],
    byEdge: ['iface'],
  },
  netiface: {
    what: 'network interfaces',
    schema: 'NetworkInterface',
    fields: `scan.id# scan.time name adapter type state mtu# mac tx.packets# rx.packets# tx.bytes# rx.bytes#
      tx.errors# rx.errors# tx.dropped# rx.dropped#`,
    filters: {
      name: { ...word('name of the interface'), isIgnored: true },
      adapter: word('adapter'),
      type: { ...word('type of the interface'), valueOfOne: text() },
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
    ties: ['name'],
  },
  netproto: {
    what: 'network protocols',
    schema: 'NetworkProtocol',
    fields: 'scan.id# iface type gateway dhcp',
    filters: {
      iface: word('network interface'),
      type: word('type of the protocol'),
      gateway: word('gateway'),
      dhcp: {
        ...word('whether DHCP is used'),
        value: {
          ...oneOf('enabled', 'disabled', 'unknown', 'BOOTP'),
          description: 'DHCP status',
          reference: 'dhcp',
        },
      },
    },
    ties: ['iface', 'type'],
  },
  packages: {
    what: 'packages',
    schema: 'Package',
    fields: `scan.id# scan.time format name priority section size# vendor install_time version architecture multiarch
      source description location`,
    filters: {
      vendor: anyText('vendor'),
      name: word('name of the package'),
      architecture: word('architecture'),
      format: word('package format'),
      version: anyText('version of the package'),
    },
    byAgent: true,
    rows: { location: { value: 'nonBlank' }, install_time: { value: 'nonBlank' } },
    ties: ['name', 'version', 'architecture'],
  },
  ports: {
    what: 'ports',
    schema: 'Port',
    fields: `scan.id# scan.time protocol local.port# remote.ip remote.port# tx_queue# rx_queue# inode# state pid#
      process local.ip`,
    filters: {
      pid: digits('process id'),
      protocol: word('protocol'),
      'local.ip': word('local address'),
      'local.port': digits('local port'),
      'remote.ip': word('remote address'),
      tx_queue: digits('bytes that wait to be sent'),
      state: word('state of the connection'),
      process: { ...word('name of the process'), beyondSeed: 'one' },
    },
    ties: ['protocol', 'local.ip', 'local.port', 'inode'],
  },
  processes: {
    what: 'processes',
    schema: 'Process',
    fields: `scan.id# scan.time pid name state ppid# utime# stime# cmd argvs euser ruser suser egroup rgroup sgroup
      fgroup priority# nice# size# vm_size# resident# share# start_time# pgrp# session# nlwp# tgid# tty# processor#`,
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
    listsNumbersFirst: true,
    ties: ['pid'],
  },
  hotfixes: {
    what: 'hotfixes',
    schema: 'Hotfix',
    // The only rows of the v4 layout without a `scan` object.
    fields: 'scan_id# scan_time hotfix',
    filters: { hotfix: anyText('hotfix') },
    hidden: true,
    ties: ['hotfix'],
  },
} as const satisfies Readonly<Record<string, Inventory>>

/** If the v3 contract gets one of these kinds, its entry moves to `table`. Their fields are those of the simulated cluster. */
const ofV4Only = {
  users: since414('users', 'user.id# user.name user.group_id# user.home user.shell user.is_hidden'),
  groups: since414('user groups', 'group.id# group.name group.is_hidden group.users'),
  browser_extensions: since414('browser extensions', 'browser.name user.id# package.name package.version'),
  services: since414('services', 'service.id service.name service.state service.start_type service.type'),
}

export type InventoryKind = keyof typeof table
export type V4InventoryKind = InventoryKind | keyof typeof ofV4Only

export const inventories: Readonly<Record<InventoryKind, Inventory>> = table
/** The kinds of the v4 contract, which has all of the v3 contract. */
export const v4Inventories: Readonly<Record<V4InventoryKind, V4Inventory>> = { ...table, ...ofV4Only }

export const inventoryKinds = Object.keys(table) as readonly InventoryKind[]

/** Returns something made of each inventory, by kind. */
export function ofInventories<Made>(make: (inventory: Inventory) => Made): Readonly<Record<InventoryKind, Made>> {
  const made = inventoryKinds.map((kind) => [kind, make(inventories[kind])])
  return Object.fromEntries(made) as Readonly<Record<InventoryKind, Made>>
}

/** The fields of CIS-CAT results, which are rows of the same form. */
export const ciscatFields = 'scan.id# scan.time benchmark profile pass# fail# error# notchecked# unknown# score#'

export type InventoryFields = readonly (readonly [name: string, kind: 'text' | 'number' | 'real'])[]

/** Returns the fields of rows in the v4 layout, in their order, with the kinds of their values. */
export function fieldsOf(fields: string): InventoryFields {
  return fields.split(/\s+/).map((field) => {
    const kind = field.endsWith('#') ? 'number' : field.endsWith('~') ? 'real' : 'text'
    return [field.replace(/[#~]$/, ''), kind]
  })
}

/** The objects in rows, such as `cpu`. */
export const inventoryObjects: ReadonlySet<string> = new Set(
  [ciscatFields, ...inventoryKinds.map((kind) => inventories[kind].fields)].flatMap((fields) =>
    fieldsOf(fields).flatMap(([name]) => /^(\w+)\./.exec(name)?.[1] ?? []),
  ),
)

export function sharedFieldsOf({ fields, rows = {} }: Inventory): InventoryFields {
  return fieldsOf(fields).filter(([name]) => !rows[name]?.dropped)
}

/** Returns the name of a field in parameters of the v3 contract, and of the column of its nodes. */
export function v3Name(name: string): string {
  return name.replace('.', '_')
}
