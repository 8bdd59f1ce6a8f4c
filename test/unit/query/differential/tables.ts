/**
 * The database tables of the manager, written down a second time and independently of `src/query/sources.ts`: a field that
 * one of the two files lacks or spells differently is a difference.
 */
export type ColumnKind = 'text' | 'number' | 'date' | 'day' | 'status' | 'label' | 'list'

export interface Table {
  readonly columns: Readonly<Record<string, ColumnKind>>
  /** SQL of the default order. */
  readonly order: { readonly column: string; readonly descending?: true }
  /** SQL expressions that replace a column in a sort. */
  readonly sortedBy?: Readonly<Record<string, readonly string[]>>
  /** Searched, never returned. */
  readonly hidden?: readonly string[]
  /** Columns that a search does not look at. */
  readonly unsearched?: readonly string[]
  /** A search for digits finds this column by number. */
  readonly searchedByNumber?: string
  readonly alwaysSelected?: readonly string[]
  readonly nested?: true
  /** Named parameters that are no columns, or have values of their own. */
  readonly parameters?: Readonly<Record<string, Parameter>>
}

export interface Parameter {
  readonly anyOf?: readonly string[]
  readonly olderThan?: readonly [column: string, fallback: string]
  readonly values?: readonly string[]
  readonly code?: number
  readonly everything?: string
}

/** `size#` is a number, `mtime@` a day, `lastKeepAlive@@` a date; everything else is text. */
function columns(names: string): Readonly<Record<string, ColumnKind>> {
  const kindOf = (name: string): ColumnKind =>
    name.endsWith('@@') ? 'date' : name.endsWith('@') ? 'day' : name.endsWith('#') ? 'number' : 'text'
  return Object.fromEntries(names.split(/\s+/).map((name) => [name.replace(/[@#]+$/, ''), kindOf(name)]))
}

function inventory(names: string): Table {
  return { columns: columns(names), order: { column: 'scan_id' }, nested: true }
}

export const tables: Readonly<Record<string, Table>> = {
  agents: {
    columns: {
      ...columns(
        'id# name ip registerIP manager node_name mergedSum configSum os.arch os.build os.codename os.major os.minor',
      ),
      ...columns('os.name os.platform os.uname os.version lastKeepAlive@@ dateAdd@@'),
      version: 'label',
      status: 'status',
      group: 'list',
    },
    order: { column: 'id' },
    sortedBy: {
      status: ['"lastKeepAlive"'],
      'os.version': ['CAST("os.major" AS INTEGER)', 'CAST("os.minor" AS INTEGER)'],
    },
    hidden: ['internal_key'],
    unsearched: ['id', 'status'],
    searchedByNumber: 'id',
    alwaysSelected: ['id'],
    parameters: { status: { everything: 'all' }, older_than: { olderThan: ['lastKeepAlive', 'dateAdd'] } },
  },
  syscheck: {
    columns: columns('file type uname gname uid gid perm md5 sha1 sha256 size# inode# date@ mtime@'),
    order: { column: 'mtime' },
    parameters: { hash: { anyOf: ['md5', 'sha1', 'sha256'] } },
  },
  rootcheck: {
    columns: columns('event pci cis status oldDay@ readDay@'),
    order: { column: 'readDay', descending: true },
    parameters: { status: { values: ['outstanding', 'solved'], code: 1603, everything: 'all' } },
  },
  sca: {
    columns: columns(
      'policy_id name description references hash_file start_scan end_scan total_checks# pass# fail# invalid# score#',
    ),
    order: { column: 'policy_id', descending: true },
  },
  scaChecks: {
    columns: columns(`id# policy_id title description rationale remediation file process directory registry command
      references result status reason condition compliance rules`),
    order: { column: 'policy_id', descending: true },
  },
  ciscat: inventory('scan_id# scan_time benchmark profile pass# fail# error# notchecked# unknown# score#'),
  hardware: inventory('scan_id# scan_time board_serial cpu_name cpu_cores# cpu_mhz# ram_free# ram_total# ram_usage#'),
  os: inventory(`scan_id# scan_time os_name os_version os_codename os_major os_minor os_build os_platform hostname
    architecture sysname release version`),
  netaddr: inventory('scan_id# iface proto address netmask broadcast'),
  netproto: inventory('scan_id# iface type gateway dhcp'),
  netiface: inventory(`scan_id# scan_time name adapter type state mac mtu# tx_packets# rx_packets# tx_bytes# rx_bytes#
    tx_errors# rx_errors# tx_dropped# rx_dropped#`),
  packages:
    inventory(`scan_id# scan_time format name priority section vendor install_time version architecture multiarch
    source description location size#`),
  ports: inventory(`scan_id# scan_time protocol local_ip remote_ip state process local_port# remote_port# tx_queue#
    rx_queue# inode# pid#`),
  processes: inventory(`scan_id# scan_time pid name state cmd argvs euser ruser suser egroup rgroup sgroup fgroup ppid#
    utime# stime# priority# nice# size# vm_size# resident# share# start_time# pgrp# session# nlwp# tgid# tty#
    processor#`),
  hotfixes: inventory('scan_id# scan_time hotfix'),
}
