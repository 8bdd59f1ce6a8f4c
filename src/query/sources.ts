/**
 * The collections of the real system as data: fields, kinds, orders and filters (contract/semantics.md
 * section 2, contract/endpoints.yaml, exchanges). Rows of inventory and CIS-CAT are flat, agents nested.
 */
import type { ArraySource, DatabaseSource, FieldKind, Filter } from './source.ts'

export { readRequest } from './request.ts'

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
