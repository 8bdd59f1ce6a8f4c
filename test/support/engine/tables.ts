/**
 * The database tables of a manager as its engine reads them: the API's field names, the stored columns with their types,
 * dates as the numbers or texts that are stored. Sources: the interface facts, the recorded exchanges, and the measured
 * differences of a real cluster. No code of the edge is used.
 */
export type ColumnType = 'INTEGER' | 'TEXT'

export interface Column {
  readonly type: ColumnType
  /** Stored as seconds since 1970, shown as `YYYY-MM-DD HH:MM:SS`. */
  readonly epoch?: true
}

export interface EngineTable {
  /**
   * `sqlite`: the engine reads the file itself and binds values. `wdb`: a daemon reads it; values are written into the
   * statement, digits as numbers, and rows come in slices of 20.
   */
  readonly backend: 'sqlite' | 'wdb'
  readonly columns: Readonly<Record<string, Column>>
  readonly order: { readonly field: string; readonly descending?: true }
  /** Rows are flat (`scan_id`), and are returned nested (`scan: {id}`). */
  readonly nested?: 'inventory' | 'dotted'
  readonly alwaysSelected?: readonly string[]
  /** Rows that a sort leaves open have the order of the table, except those of indexed columns. Absent: it is not known. */
  readonly keepsTies?: { readonly exceptOf: readonly string[] }
  /** Date fields of `q`. */
  readonly dates?: readonly string[]
}

/** `size#` is a number, `mtime@` a date that is stored as a number; all others are texts. */
function columns(names: string): Readonly<Record<string, Column>> {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, Column] => {
        if (name.endsWith('#')) return [name.slice(0, -1), { type: 'INTEGER' }]
        if (name.endsWith('@')) return [name.slice(0, -1), { type: 'INTEGER', epoch: true }]
        return [name, { type: 'TEXT' }]
      }),
  )
}

function inventory(names: string): EngineTable {
  return { backend: 'wdb', columns: columns(names), order: { field: 'scan_id' }, nested: 'inventory' }
}

export const engineTables = {
  agents: {
    backend: 'sqlite',
    columns: columns(`id# name ip registerIP status os.name os.version os.platform os.codename os.major os.minor
      os.uname os.arch os.build version manager dateAdd group mergedSum configSum node_name lastKeepAlive`),
    order: { field: 'id' },
    nested: 'dotted',
    alwaysSelected: ['id'],
    keepsTies: { exceptOf: ['name', 'ip'] },
    dates: ['lastKeepAlive', 'dateAdd'],
  },
  syscheck: {
    backend: 'wdb',
    columns: columns('file type uname gname uid gid perm md5 sha1 sha256 size# inode# date@ mtime@'),
    order: { field: 'mtime' },
    dates: ['date', 'mtime'],
  },
  rootcheck: {
    backend: 'sqlite',
    columns: columns('event pci cis status oldDay@ readDay@'),
    order: { field: 'readDay', descending: true },
    dates: ['oldDay', 'readDay'],
  },
  sca: {
    backend: 'wdb',
    columns: columns(`policy_id name description references hash_file total_checks# pass# fail# invalid# score#
      start_scan@ end_scan@`),
    order: { field: 'policy_id', descending: true },
    dates: ['start_scan', 'end_scan'],
  },
  ciscat: inventory('scan_id# scan_time benchmark profile pass# fail# error# notchecked# unknown# score#'),
  hardware: inventory('scan_id# scan_time board_serial cpu_name cpu_cores# cpu_mhz# ram_free# ram_total# ram_usage#'),
  os: inventory(`scan_id# scan_time hostname architecture os_name os_version os_codename os_major os_minor os_build
    os_platform sysname release version`),
  netaddr: inventory('scan_id# iface proto address netmask broadcast'),
  netproto: inventory('scan_id# iface type gateway dhcp'),
  netiface: inventory(`scan_id# scan_time name adapter type state mac mtu# tx_packets# rx_packets# tx_bytes# rx_bytes#
    tx_errors# rx_errors# tx_dropped# rx_dropped#`),
  packages: inventory(`scan_id# scan_time format name priority section size# vendor install_time version architecture
    multiarch source description location`),
  ports: inventory(`scan_id# scan_time protocol local_ip local_port# remote_ip remote_port# tx_queue# rx_queue# inode#
    state pid# process`),
  processes: inventory(`scan_id# scan_time pid name state ppid# utime# stime# cmd argvs euser ruser suser egroup rgroup
    sgroup fgroup priority# nice# size# vm_size# resident# share# start_time# pgrp# session# nlwp# tgid# tty#
    processor#`),
  hotfixes: inventory('scan_id# scan_time hotfix'),
} as const satisfies Readonly<Record<string, EngineTable>>

export type TableName = keyof typeof engineTables

/** The tables of `/syscollector/:agent_id/…`, by the last part of the path. */
export const inventoryTables = Object.entries<EngineTable>(engineTables).filter(
  ([name, { nested }]) => nested === 'inventory' && name !== 'ciscat',
)
