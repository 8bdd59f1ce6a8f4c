/**
 * How a field of a database is compared. `text`: without case; `number`: texts of digits are numbers too
 * (`id>2` over "003"); `date`: as text, and in `q` by time frames; `day`: as text, in `q` by days only;
 * `status`: the state of an agent, blanks and case do not count; `label`: text in which the blank before a
 * version's `v` may be missing; `list`: by any of its members.
 */
export type FieldKind = 'text' | 'number' | 'date' | 'day' | 'status' | 'label' | 'list'

/** A key to sort by in the place of a field. `as: 'number'`: texts of digits are read as numbers. */
export interface SortBy {
  readonly field: string
  readonly as?: 'number'
}

/**
 * How a named parameter narrows. Without a rule it equals the field of its own name: in a database without
 * case and with a comma for any of several, in an array exactly; a field that is a list by any of its members.
 */
export type Filter =
  | {
      readonly by: 'equal'
      /** The fields of which one must fit, if it is not the field of the parameter's name. */
      readonly fields?: readonly string[]
      /** Anything but these values and `everything` answers this code. */
      readonly allowed?: { readonly values: readonly string[]; readonly code: 1202 | 1603 | 1728 }
      /** The value that asks for everything. */
      readonly everything?: string
    }
  /** `N` or `N-M`, both included (1203). */
  | { readonly by: 'range'; readonly field: string }
  /** A time frame (1411): its field lies longer ago, or, where that has no value, `orElse` does. */
  | { readonly by: 'olderThan'; readonly field: string; readonly orElse: string }

interface Common {
  /**
   * Sort text of the order where none is asked (`+id`, `-timestamp`); catalogues take any name for their texts.
   * Absent: the order of the rows, and a sort without a field is refused (1404).
   */
  readonly order?: string
  /** Other keys to sort by than the field itself, by field. */
  readonly sortBy?: Readonly<Record<string, readonly SortBy[]>>
  readonly filters?: Readonly<Record<string, Filter>>
}

/** A table of a database: its fields are known, text is compared without case, faults are told (1403, 1408, 1724). */
export interface DatabaseSource extends Common {
  readonly engine: 'database'
  /** Every field that may be sorted by, selected and queried, dotted for nested rows. */
  readonly fields: Readonly<Record<string, FieldKind>>
  /** Fields that are searched and sorted by but never answered nor selected (the key of an agent). */
  readonly hidden?: readonly string[]
  /** A search of digits only finds this field by its number (agents: `search=001`). */
  readonly searchNumber?: string
  /** Fields that `select` always adds. */
  readonly always?: readonly string[]
  /** Rows are flat and are nested when they leave (`scan_id` → `scan: {id}`). */
  readonly nested?: true
}

/** Values in memory: fields are those of the first row, text is compared with case, `~` means "begins with". */
export interface ArraySource extends Common {
  readonly engine: 'array'
  /** The source's own order tells capitals from small letters, though a sort that is asked for does not. */
  readonly caseCounts?: true
  /** The fields that `select` takes (1724 for others); absent: any `select` fails with 1000, as it does there. */
  readonly selectable?: readonly string[]
  /** The fields that may be sorted by; absent: those of the first row. */
  readonly sortable?: readonly string[]
  /** The fields that are searched; absent: every value, nested ones too. */
  readonly searched?: readonly string[]
  /** The offset is cut before search and sort, there is no greatest limit, and totalItems counts the page (lists). */
  readonly offsetFirst?: true
}

export type Source = DatabaseSource | ArraySource

/**
 * The collections of the real system as data: fields, kinds, orders and filters (contract/semantics.md
 * section 2, contract/endpoints.yaml, exchanges). Rows of inventory and CIS-CAT are flat, agents nested.
 */

type Fields = Readonly<Record<string, FieldKind>>

function texts(...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, 'text']))
}

function numbers(...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, 'number']))
}

const scan: Fields = { ...numbers('scan_id'), ...texts('scan_time') }

function inventory(...fields: readonly Fields[]): DatabaseSource {
  return { engine: 'database', fields: Object.assign({}, ...fields) as Fields, order: '+scan_id', nested: true }
}

const STATUS: Filter = {
  by: 'equal',
  allowed: { values: ['enabled', 'disabled'], code: 1202 },
  everything: 'all',
}

const agents: DatabaseSource = {
  engine: 'database',
  fields: {
    id: 'number',
    ...texts('name', 'ip', 'registerIP', 'manager', 'node_name', 'mergedSum', 'configSum'),
    ...texts('os.arch', 'os.build', 'os.codename', 'os.major', 'os.minor', 'os.name', 'os.platform', 'os.uname'),
    'os.version': 'text',
    version: 'label',
    status: 'status',
    group: 'list',
    lastKeepAlive: 'date',
    dateAdd: 'date',
  },
  hidden: ['internal_key'],
  searchNumber: 'id',
  always: ['id'],
  order: '+id',
  sortBy: {
    status: [{ field: 'lastKeepAlive' }],
    'os.version': [
      { field: 'os.major', as: 'number' },
      { field: 'os.minor', as: 'number' },
    ],
  },
  filters: {
    status: { by: 'equal', everything: 'all' },
    older_than: { by: 'olderThan', field: 'lastKeepAlive', orElse: 'dateAdd' },
  },
}

const log: ArraySource = {
  engine: 'array',
  order: '-timestamp',
  sortable: ['timestamp', 'tag', 'level', 'description'],
  filters: {
    type_log: { by: 'equal', fields: ['level'], everything: 'all' },
    category: { by: 'equal', fields: ['tag'], everything: 'all' },
  },
}

/** By the name of what their elements are. */
export const sources = {
  agents,
  groups: { engine: 'array', order: '+name', searched: ['name'] },
  groupFiles: { engine: 'array', order: '+filename' },
  rules: {
    engine: 'array',
    order: '+id',
    sortable: ['file', 'path', 'description', 'id', 'level', 'status'],
    filters: { status: STATUS, level: { by: 'range', field: 'level' }, group: { by: 'equal', fields: ['groups'] } },
  },
  ruleFiles: { engine: 'array', order: '+file', filters: { status: STATUS } },
  decoders: {
    engine: 'array',
    order: '+file,position',
    sortable: ['file', 'path', 'name', 'position', 'status'],
    filters: { status: STATUS },
  },
  decoderFiles: { engine: 'array', order: '+file', filters: { status: STATUS } },
  /** Requirements, groups of rules, platforms: elements are texts. */
  catalogue: { engine: 'array', order: '+text', caseCounts: true },
  lists: { engine: 'array', sortable: ['path'], searched: ['path'], offsetFirst: true },
  listFiles: { engine: 'array', sortable: ['path', 'name'], searched: ['path', 'name'], offsetFirst: true },
  logs: log,
  nodes: {
    engine: 'array',
    selectable: ['name', 'type', 'version', 'ip'],
    sortable: ['name', 'type', 'version', 'ip'],
    filters: { type: { by: 'equal', allowed: { values: ['master', 'worker'], code: 1728 }, everything: 'all' } },
  },
  syscheck: {
    engine: 'database',
    fields: {
      ...texts('file', 'type', 'uname', 'gname', 'uid', 'gid', 'perm', 'md5', 'sha1', 'sha256'),
      ...numbers('size', 'inode'),
      date: 'day',
      mtime: 'day',
    },
    order: '+mtime',
    filters: { hash: { by: 'equal', fields: ['md5', 'sha1', 'sha256'] } },
  },
  rootcheck: {
    engine: 'database',
    fields: { ...texts('event', 'pci', 'cis', 'status'), oldDay: 'day', readDay: 'day' },
    order: '-readDay',
    filters: {
      status: { by: 'equal', allowed: { values: ['outstanding', 'solved'], code: 1603 }, everything: 'all' },
    },
  },
  sca: {
    engine: 'database',
    fields: {
      ...texts('policy_id', 'name', 'description', 'references', 'hash_file', 'start_scan', 'end_scan'),
      ...numbers('total_checks', 'pass', 'fail', 'invalid', 'score'),
    },
    order: '-policy_id',
  },
  scaChecks: {
    engine: 'database',
    fields: {
      ...numbers('id'),
      ...texts('policy_id', 'title', 'description', 'rationale', 'remediation', 'file', 'process', 'directory'),
      ...texts('registry', 'command', 'references', 'result', 'status', 'reason', 'condition'),
      ...texts('compliance', 'rules'),
    },
    order: '-policy_id',
  },
  ciscat: inventory(
    scan,
    texts('benchmark', 'profile'),
    numbers('pass', 'fail', 'error', 'notchecked', 'unknown', 'score'),
  ),
  hardware: inventory(
    scan,
    texts('board_serial', 'cpu_name'),
    numbers('cpu_cores', 'cpu_mhz', 'ram_free', 'ram_total', 'ram_usage'),
  ),
  os: inventory(
    scan,
    texts('os_name', 'os_version', 'os_codename', 'os_major', 'os_minor', 'os_build', 'os_platform'),
    texts('hostname', 'architecture', 'sysname', 'release', 'version'),
  ),
  netaddr: inventory(numbers('scan_id'), texts('iface', 'proto', 'address', 'netmask', 'broadcast')),
  netproto: inventory(numbers('scan_id'), texts('iface', 'type', 'gateway', 'dhcp')),
  netiface: inventory(
    scan,
    texts('name', 'adapter', 'type', 'state', 'mac'),
    numbers('mtu', 'tx_packets', 'rx_packets', 'tx_bytes', 'rx_bytes'),
    numbers('tx_errors', 'rx_errors', 'tx_dropped', 'rx_dropped'),
  ),
  packages: inventory(
    scan,
    texts('format', 'name', 'priority', 'section', 'vendor', 'install_time', 'version', 'architecture', 'multiarch'),
    texts('source', 'description', 'location'),
    numbers('size'),
  ),
  ports: inventory(
    scan,
    texts('protocol', 'local_ip', 'remote_ip', 'state', 'process'),
    numbers('local_port', 'remote_port', 'tx_queue', 'rx_queue', 'inode', 'pid'),
  ),
  processes: inventory(
    scan,
    texts('pid', 'name', 'state', 'cmd', 'argvs'),
    texts('euser', 'ruser', 'suser', 'egroup', 'rgroup', 'sgroup', 'fgroup'),
    numbers('ppid', 'utime', 'stime', 'priority', 'nice', 'size', 'vm_size', 'resident', 'share', 'start_time'),
    numbers('pgrp', 'session', 'nlwp', 'tgid', 'tty', 'processor'),
  ),
  hotfixes: inventory(scan, texts('hotfix')),
} as const satisfies Record<string, DatabaseSource | ArraySource>

export type SourceName = keyof typeof sources
