/**
 * The collections of the manager as data: the vocabulary of a source, then one entry per collection with its fields,
 * kinds, default sort and filters. One algorithm (collect.ts) serves all of them.
 * Over 200 lines: a table of collections.
 */
import type { Collection } from '../contracts/endpoint.ts'
import {
  ciscatFields,
  fieldsOf,
  type InventoryFields,
  ofInventories,
  sharedFieldsOf,
  v3Name,
} from '../contracts/v3/inventories.ts'

/**
 * How the values of a database field compare. `text`: case-insensitively in filters. `number`: texts of digits are
 * numbers (`id>2` matches "003"). `real`: as a number; the manager prints it with a fraction (`2600.0`). `date`: as text,
 * and in `q` by time frames. `day`: as text, in `q` by days only; the manager stores a number of seconds. `status`: an
 * agent state; spaces and case are ignored. `label`: a text in which the space in front of the `v` of a version may be
 * missing. `list`: by any member. `word`: a text that has no order and no parts. `opaque`: in a way that the edge does not
 * compute.
 */
export type FieldKind = 'text' | 'number' | 'real' | 'date' | 'day' | 'status' | 'label' | 'list' | 'word' | 'opaque'

/** A field to sort by in place of another one. `as: 'integer'`: as SQLite casts a text, which is 0 without leading digits. */
export interface SortBy {
  readonly field: string
  readonly as?: 'integer'
}

/**
 * How a named parameter filters. A parameter without an entry must equal the field of the same name: in a database
 * case-insensitively, with a comma between alternatives; in an array exactly; in a field that is a list, any member.
 */
export type Filter =
  | {
      readonly by: 'equal'
      /** Fields of which at least one must match. Default: the field with the name of the parameter. */
      readonly fields?: readonly string[]
      /** All values other than these and `matchAll` are refused with this code. */
      readonly allowed?: { readonly values: readonly string[]; readonly code: 1202 | 1603 | 1728 }
      /** The value that matches every row. */
      readonly matchAll?: string
      /** The manager reports a value that no row has. */
      readonly mustExist?: true
    }
  /** `N` or `N-M`, both included; refused with 1203. */
  | { readonly by: 'range'; readonly field: string }
  /** The field, or `fallbackField` if it has no value, is older than a time frame; refused with 1411. */
  | { readonly by: 'olderThan'; readonly field: string; readonly fallbackField: string }
  /** One of the values, with commas in between. `mustExist`: the manager reports values that no row has. */
  | { readonly by: 'listed'; readonly field: string; readonly mustExist?: true }

interface CommonSource {
  /** The maximum of `limit`. Default: 1000. */
  readonly maxLimit?: number
  /** Fields that `select` always adds. */
  readonly alwaysSelected?: readonly string[]
  /** A page is computed only if the rows leave nothing open (`collections/determined.ts`). */
  readonly isStrict?: true
  /** A page without a sort has the order of all rows, whatever filters and fields it has. */
  readonly isOrdered?: true
  /** A `select` without this field is not computed: the manager may add it. */
  readonly selectsWith?: string
  /** With `distinct`, the manager returns the different values of one selected field that are not empty. */
  readonly hasDistinctValues?: true
  /** Only pages are computed, of rows that were selected in the same way. */
  readonly pagesOnly?: true
  /** The manager searches what the rows do not show, or it is not known what it searches. */
  readonly noSearch?: true
  /**
   * The sort of requests without one (`+id`, `-timestamp`); for collections of texts the name of the field is arbitrary.
   * Absent: rows keep their order, and a sort without a field is refused (1404).
   */
  readonly defaultSort?: string
  /** Fields that are sorted by other fields. */
  readonly sortBy?: Readonly<Record<string, readonly SortBy[]>>
  readonly filters?: Readonly<Record<string, Filter>>
}

/** A database table: its fields are known, text comparison ignores case, errors have codes (1403, 1408, 1724). */
export interface DatabaseSource extends CommonSource {
  readonly engine: 'database'
  /** All fields for `sort`, `select` and `q`, with dots for nested rows. */
  readonly fields: Readonly<Record<string, FieldKind>>
  /** Fields that are searched but never returned (the key of an agent). */
  readonly hidden?: readonly string[]
  /** A search for digits matches this field by number only (agents: `search=001`). */
  readonly numberSearchField?: string
  /** Names that `select` accepts and that select nothing. */
  readonly ignoredInSelect?: readonly string[]
  /** Rows are flat and leave nested (`scan_id` → `scan: {id}`). */
  readonly nested?: true
  /** The manager adds a condition to those of each request, from which an alternative in `q` escapes. */
  readonly hasOwnCondition?: true
  /** Times in rows that the manager may store in another form. */
  readonly storedTimes?: readonly string[]
  /**
   * Of requests without filter, search, `q` and `select`, recordings show that rows with equal sort values have the order of
   * the default sort, except those of the fields here, which have an index. Absent: they may have another order.
   */
  readonly orderOfTies?: { readonly exceptOf: readonly string[] }
  /** Recordings show that rows which a search finds have the order of all rows. */
  readonly searchesInOrder?: true
}

/** Values in memory: the fields are those of the first row, text comparison is case-sensitive, `~` means "begins with". */
export interface ArraySource extends CommonSource {
  readonly engine: 'array'
  /** The default sort is case-sensitive; a requested sort never is. */
  readonly caseSensitiveOrder?: true
  /** Fields for `select` (1724 for others). Absent: every `select` fails with 1000, as the manager does. */
  readonly selectable?: readonly string[]
  /** Fields for `sort`. Absent: those of the first row. */
  readonly sortable?: readonly string[]
  /** Fields for `search`. Absent: all values, nested ones too. */
  readonly searchable?: readonly string[]
  /**
   * Fields of conditions in `q` that the manager evaluates as this room does: texts, and numbers that are compared with
   * digits. Absent: no field is known to be one. docs/collection-choices.md has the differences for other conditions.
   */
  readonly plainFields?: Readonly<Record<string, 'text' | 'number'>>
  /** `select` applies before search, sort and `q`, which then miss the other fields. */
  readonly selectsFirst?: true
  /** The manager searches and sorts other rows than it returns. */
  readonly selectsFromRows?: true
  /** The offset applies before search and sort, and totalItems counts the page (CDB lists). */
  readonly offsetFirst?: true
}

export type Source = DatabaseSource | ArraySource

/** The entries of the cache, for `/cache` and the console. */
export const cacheEntries: ArraySource = {
  engine: 'array',
  defaultSort: '+url',
  sortable: ['url', 'group', 'endpoint', 'scope', 'key', 'size', 'age', 'timeLeft', 'hits', 'fetchTime'],
  selectable: ['url', 'group', 'endpoint', 'scope', 'key', 'tags', 'size', 'age', 'timeLeft', 'hits', 'fetchTime'],
  searchable: ['url', 'endpoint'],
  filters: { tag: { by: 'equal', fields: ['tags'] } },
}

const UNLIMITED = Number.POSITIVE_INFINITY

export function ofKind<Kind extends FieldKind>(
  kind: Kind,
  ...names: readonly string[]
): Readonly<Record<string, Kind>> {
  return Object.fromEntries(names.map((name) => [name, kind]))
}

export function texts(...names: readonly string[]): Readonly<Record<string, 'text'>> {
  return ofKind('text', ...names)
}

export function numbers(...names: readonly string[]): Readonly<Record<string, 'number'>> {
  return ofKind('number', ...names)
}

/** Filters that must equal the field, or a member of the list, with the same name. */
export function equal(...names: readonly string[]): Readonly<Record<string, Filter>> {
  return Object.fromEntries(names.map((name) => [name, { by: 'equal' }]))
}

/** A filter by a list of values, of which the manager reports those that no row has. */
export function existing(field: string): Filter {
  return { by: 'listed', field, mustExist: true }
}

/** Rows of an inventory are flat, and leave nested. */
function inventory(fields: InventoryFields): DatabaseSource {
  const all = Object.fromEntries(fields.map(([name, kind]) => [v3Name(name), kind]))
  const times = 'scan_time' in all ? { storedTimes: ['scan_time'] } : undefined
  return { engine: 'database', fields: all, defaultSort: '+scan_id', nested: true, ...times }
}

const STATUS: Filter = {
  by: 'equal',
  allowed: { values: ['enabled', 'disabled'], code: 1202 },
  matchAll: 'all',
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
  numberSearchField: 'id',
  alwaysSelected: ['id'],
  defaultSort: '+id',
  hasOwnCondition: true,
  orderOfTies: { exceptOf: ['name', 'ip'] },
  sortBy: {
    status: [{ field: 'lastKeepAlive' }],
    'os.version': [
      { field: 'os.major', as: 'integer' },
      { field: 'os.minor', as: 'integer' },
    ],
  },
  filters: {
    status: { by: 'equal', matchAll: 'all' },
    older_than: { by: 'olderThan', field: 'lastKeepAlive', fallbackField: 'dateAdd' },
  },
}

/** Of collections whose rows the edge does not filter or sort. */
export const pages: ArraySource = { engine: 'array', pagesOnly: true }

export const sources = {
  agents,
  groups: {
    engine: 'array',
    defaultSort: '+name',
    searchable: ['name'],
    plainFields: { name: 'text', count: 'number', mergedSum: 'text' },
  },
  groupFiles: { engine: 'array', defaultSort: '+filename' },
  rules: {
    engine: 'array',
    defaultSort: '+id',
    sortable: ['file', 'path', 'description', 'id', 'level', 'status'],
    plainFields: { id: 'number', level: 'number', ...texts('description', 'file', 'path', 'status') },
    filters: {
      status: STATUS,
      level: { by: 'range', field: 'level' },
      group: { by: 'equal', fields: ['groups'] },
      ...equal('pci', 'gdpr', 'hipaa', 'nist-800-53', 'gpg13'),
    },
  },
  ruleFiles: { engine: 'array', defaultSort: '+file', filters: { status: STATUS } },
  decoders: {
    engine: 'array',
    defaultSort: '+file,position',
    sortable: ['file', 'path', 'name', 'position', 'status'],
    plainFields: { position: 'number', ...texts('name', 'file', 'path', 'status') },
    filters: { status: STATUS },
  },
  decoderFiles: { engine: 'array', defaultSort: '+file', filters: { status: STATUS } },
  /** Requirements, rule groups, platforms: the elements are texts. */
  catalogue: { engine: 'array', defaultSort: '+text', caseSensitiveOrder: true },
  /** Requirements in the events of rootcheck: texts that the manager selects from the events. */
  requirements: { engine: 'array', defaultSort: '+text', caseSensitiveOrder: true, selectsFromRows: true },
  lists: {
    engine: 'array',
    sortable: ['path'],
    searchable: ['path'],
    offsetFirst: true,
    maxLimit: UNLIMITED,
    filters: { path: { by: 'equal', mustExist: true } },
  },
  listFiles: {
    engine: 'array',
    sortable: ['path', 'name'],
    searchable: ['path', 'name'],
    offsetFirst: true,
    maxLimit: UNLIMITED,
  },
  logs: {
    engine: 'array',
    defaultSort: '-timestamp',
    sortable: ['timestamp', 'tag', 'level', 'description'],
    filters: {
      type_log: { by: 'equal', fields: ['level'], matchAll: 'all' },
      category: { by: 'equal', fields: ['tag'], matchAll: 'all' },
    },
  },
  nodes: {
    engine: 'array',
    selectable: ['name', 'type', 'version', 'ip'],
    selectsFirst: true,
    sortable: ['name', 'type', 'version', 'ip'],
    plainFields: texts('name', 'type', 'version', 'ip'),
    filters: { type: { by: 'equal', allowed: { values: ['master', 'worker'], code: 1728 }, matchAll: 'all' } },
  },
  syscheck: {
    engine: 'database',
    fields: {
      ...texts('file', 'type', 'uname', 'gname', 'uid', 'gid', 'perm', 'md5', 'sha1', 'sha256'),
      ...numbers('size', 'inode'),
      date: 'day',
      mtime: 'day',
    },
    defaultSort: '+mtime',
    filters: { hash: { by: 'equal', fields: ['md5', 'sha1', 'sha256'] } },
  },
  rootcheck: {
    engine: 'database',
    fields: { ...texts('event', 'pci', 'cis', 'status'), oldDay: 'day', readDay: 'day' },
    defaultSort: '-readDay',
    hasOwnCondition: true,
    filters: {
      status: { by: 'equal', allowed: { values: ['outstanding', 'solved'], code: 1603 }, matchAll: 'all' },
    },
  },
  sca: {
    engine: 'database',
    fields: {
      ...texts('policy_id', 'name', 'description', 'references', 'hash_file', 'start_scan', 'end_scan'),
      ...numbers('total_checks', 'pass', 'fail', 'invalid', 'score'),
    },
    defaultSort: '-policy_id',
    storedTimes: ['start_scan', 'end_scan'],
  },
  scaChecks: {
    engine: 'database',
    fields: {
      ...numbers('id'),
      ...texts('policy_id', 'title', 'description', 'rationale', 'remediation', 'file', 'process', 'directory'),
      ...texts('registry', 'command', 'references', 'result', 'status', 'reason', 'condition'),
      ...texts('compliance', 'rules'),
    },
    ignoredInSelect: ['compliance.key', 'compliance.value', 'rules.type', 'rules.rule'],
    defaultSort: '-policy_id',
  },
  ciscat: inventory(fieldsOf(ciscatFields)),
  ...ofInventories((of) => inventory(sharedFieldsOf(of))),
} as const satisfies Record<Collection, DatabaseSource | ArraySource>
