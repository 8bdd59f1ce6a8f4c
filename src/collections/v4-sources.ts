/**
 * The collections of the v4 contract as data, in the vocabulary of `sources.ts`. Only what the manager certainly
 * computes in this way is named: all other fields, filters, sorts and conditions are left to a node. The facts are those
 * of recorded responses of release 4.5.4 (`test/contract/v4-contract/queries.test.ts`).
 */
import type { RowKind } from '../contracts/endpoint.ts'
import { ciscatFields, fieldsOf, type InventoryFields, ofInventories } from '../contracts/v3/inventories.ts'
import { type DatabaseSource, equal, existing, numbers, ofKind, pages, type Source, sources, texts } from './sources.ts'

/** Rows of one agent, which are read in the order of their table. */
function inventory(fields: InventoryFields, filters: readonly string[]): DatabaseSource {
  const times = fields.flatMap(([name]) => (/^scan.time$/.test(name) ? [name] : []))
  return {
    engine: 'database',
    fields: Object.fromEntries(fields.map(([name, kind]) => [name, /^scan[._]/.test(name) ? 'opaque' : kind])),
    alwaysSelected: ['agent_id'],
    searchesInOrder: true,
    filters: equal(...filters),
    ...(times.length > 0 && { storedTimes: times }),
  }
}

const { status: _, compliance: __, rules: ___, ...scaCheckFields } = sources.scaChecks.fields

const rulesetFiles: Source = {
  engine: 'array',
  defaultSort: '+filename',
  sortable: ['filename', 'status', 'relative_dirname'],
  filters: { status: { by: 'equal', matchAll: 'all' }, ...equal('filename', 'relative_dirname') },
}

const described: Readonly<Record<RowKind, Source>> = {
  pages,
  logs: pages,
  agents: {
    engine: 'database',
    fields: {
      ...sources.agents.fields,
      disconnection_time: 'date',
      ...ofKind('word', 'status', 'group_config_status'),
      // Numbers of releases are compared part by part, and a group with the names of all groups.
      ...ofKind('opaque', 'os.version', 'version', 'group'),
    },
    alwaysSelected: ['id'],
    // A search also finds the keys of agents.
    noSearch: true,
    defaultSort: '+id',
    hasOwnCondition: true,
    orderOfTies: { exceptOf: ['name', 'ip'] },
    filters: {
      agents_list: existing('id'),
      status: { by: 'listed', field: 'status' },
      ...equal('os.platform', 'os.name', 'manager', 'node_name', 'name', 'ip', 'registerIP', 'group_config_status'),
    },
  },
  groups: {
    engine: 'array',
    defaultSort: '+name',
    sortable: ['name', 'count'],
    plainFields: { name: 'text', count: 'number' },
    noSearch: true,
    filters: { groups_list: existing('name') },
  },
  groupFiles: {
    engine: 'array',
    defaultSort: '+filename',
    sortable: ['filename', 'hash'],
  },
  rules: {
    engine: 'array',
    defaultSort: '+id',
    sortable: ['filename', 'relative_dirname', 'description', 'id', 'level', 'status'],
    plainFields: { ...texts('filename', 'relative_dirname', 'status'), ...numbers('id', 'level') },
    selectable: [
      ...['filename', 'relative_dirname', 'id', 'level', 'status', 'details', 'groups', 'description', 'pci_dss'],
      ...['gpg13', 'gdpr', 'hipaa', 'nist_800_53', 'tsc', 'mitre'],
    ],
    alwaysSelected: ['id'],
    filters: {
      rule_ids: existing('id'),
      status: { by: 'equal', matchAll: 'all' },
      level: { by: 'range', field: 'level' },
      group: { by: 'equal', fields: ['groups'] },
      'nist-800-53': { by: 'equal', fields: ['nist_800_53'] },
      ...equal('filename', 'relative_dirname', 'pci_dss', 'gdpr', 'gpg13', 'hipaa', 'tsc', 'mitre'),
    },
  },
  decoders: {
    engine: 'array',
    sortable: ['filename', 'relative_dirname', 'name', 'position', 'status'],
    plainFields: { ...texts('filename', 'relative_dirname', 'name', 'status'), ...numbers('position') },
    selectable: ['filename', 'relative_dirname', 'name', 'position', 'status', 'details'],
    alwaysSelected: ['filename', 'position'],
    filters: {
      decoder_names: existing('name'),
      status: { by: 'equal', matchAll: 'all' },
      ...equal('filename', 'relative_dirname'),
    },
  },
  ruleFiles: rulesetFiles,
  decoderFiles: rulesetFiles,
  catalogue: sources.catalogue,
  requirements: sources.catalogue,
  lists: {
    engine: 'array',
    sortable: ['filename', 'relative_dirname'],
    noSearch: true,
    selectable: ['filename', 'relative_dirname', 'items'],
    alwaysSelected: ['filename', 'relative_dirname'],
    filters: equal('filename', 'relative_dirname'),
  },
  listFiles: {
    engine: 'array',
    sortable: ['filename', 'relative_dirname'],
    filters: equal('filename', 'relative_dirname'),
  },
  nodes: {
    engine: 'array',
    sortable: ['name', 'type', 'version', 'ip'],
    selectable: ['name', 'type', 'version', 'ip'],
    plainFields: texts('name', 'type', 'version', 'ip'),
    filters: { nodes_list: existing('name'), ...equal('type') },
  },
  syscheck: {
    engine: 'database',
    fields: {
      ...texts('file', 'uname', 'gname', 'uid', 'gid', 'md5', 'sha1', 'sha256', 'value.name', 'value.type'),
      ...ofKind('word', 'type', 'arch'),
      ...numbers('size', 'inode', 'changes'),
      ...ofKind('date', 'date', 'mtime'),
      ...ofKind('opaque', 'perm', 'attributes'),
    },
    alwaysSelected: ['file'],
    defaultSort: '+mtime',
    noSearch: true,
    filters: {
      hash: { by: 'equal', fields: ['md5', 'sha1', 'sha256'] },
      ...equal('file', 'type', 'arch', 'value.name', 'value.type', 'md5', 'sha1', 'sha256'),
    },
  },
  rootcheck: {
    engine: 'database',
    fields: {
      ...texts('log', 'pci_dss', 'cis'),
      ...ofKind('word', 'status'),
      ...ofKind('date', 'date_first', 'date_last'),
    },
    defaultSort: '-date_last',
    hasDistinctValues: true,
    storedTimes: ['date_first', 'date_last'],
    hasOwnCondition: true,
    filters: {
      status: { by: 'equal', allowed: { values: ['outstanding', 'solved'], code: 1603 }, matchAll: 'all' },
      ...equal('pci_dss', 'cis'),
    },
  },
  sca: {
    engine: 'database',
    fields: { ...sources.sca.fields, ...ofKind('date', 'start_scan', 'end_scan') },
    alwaysSelected: ['policy_id'],
    defaultSort: '-policy_id',
    storedTimes: ['start_scan', 'end_scan'],
    hasOwnCondition: true,
    filters: equal('name', 'description', 'references'),
  },
  scaChecks: {
    engine: 'database',
    fields: scaCheckFields,
    defaultSort: '+id',
    selectsWith: 'id',
    noSearch: true,
    hasOwnCondition: true,
    filters: equal(
      ...['title', 'description', 'rationale', 'remediation', 'command', 'reason', 'file', 'process', 'directory'],
      ...['registry', 'references', 'result', 'condition'],
    ),
  },
  ciscat: inventory(fieldsOf(ciscatFields), 'benchmark profile pass fail error notchecked unknown score'.split(' ')),
  ...ofInventories(({ fields, filters }) =>
    inventory(
      fieldsOf(fields),
      Object.keys(filters).filter((name) => !filters[name]?.isIgnored),
    ),
  ),
}

export const v4Sources = Object.fromEntries(
  Object.entries(described).map(([rows, source]) => [rows, { ...source, maxLimit: 100_000, isStrict: true }]),
) as Readonly<Record<RowKind, Source>>
