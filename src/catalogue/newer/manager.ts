/** Translations of facts and operations of a node: `/manager/…` and its twin `/cluster/:node_id/…` share one. */
import type { FieldRule, Translation } from './translation.ts'

export const info: Translation = {
  call: { path: '{node}/info' },
  plan: 'info',
  response: { kind: 'one', rows: { fields: { compilation_date: { value: 'longDate' } } } },
}

/** The daemons that the newer layout gives other names. */
const RENAMED_DAEMONS = [
  ...['agentlessd', 'analysisd', 'authd', 'csyslogd', 'dbd', 'monitord', 'execd', 'integratord'],
  ...['logcollector', 'maild', 'remoted', 'reportd', 'syscheckd'],
]
/** Rules for these keep the order of the daemons. */
const SAME_DAEMONS = ['wazuh-clusterd', 'wazuh-modulesd', 'wazuh-db']

export const status: Translation = {
  call: { path: '{node}/status' },
  response: {
    kind: 'one',
    rows: {
      fields: {
        ...Object.fromEntries(RENAMED_DAEMONS.map((name) => [`wazuh-${name}`, { to: `ossec-${name}` }])),
        ...Object.fromEntries(SAME_DAEMONS.map((name) => [name, { to: name }])),
        'wazuh-apid': { dropped: true },
      },
    },
  },
}

export const configuration: Translation = {
  // The edge takes the field from the converted section.
  call: { path: '{node}/configuration', params: { field: { ignored: true } } },
  plan: 'configuration',
  response: { kind: 'one' },
  refused: { section: 1102 },
}

export const activeConfiguration: Translation = {
  call: { path: '{node}/configuration/:component/:configuration' },
  response: { kind: 'own', shape: 'activeConfiguration' },
  // 1121: the component does not run. 1128: the component has no such configuration.
  errors: { 1121: 1117, 1128: 1116 },
  refused: { component: 1101, configuration: 1116 },
}

export const validation: Translation = {
  call: {
    path: '{node}/configuration/validation',
    elsewhere: { path: '/cluster/configuration/validation', fixed: { nodes_list: '{node}' } },
  },
  plan: 'verdict',
  response: { kind: 'one' },
}

/**
 * Names of daemons and forms of times differ in both layouts, and `~` means "begins with" only in the classic one: the edge
 * evaluates what compares them.
 */
export const logs: Translation = {
  call: {
    path: '{node}/logs',
    params: {
      type_log: { as: 'level', omitted: ['all'] },
      category: { as: 'tag', omitted: ['all'], format: 'daemon' },
      sort: { byEdgeIf: 'tag' },
      search: { byEdgeIf: '[Oo][Ss][Ss][Ee][Cc]|[Ww][Aa][Zz][Uu][Hh]' },
      q: { byEdgeIf: 'tag|timestamp|~' },
      select: { fails: 1000 },
    },
  },
  plan: 'logs',
  response: {
    kind: 'collection',
    rows: { source: 'logs', fields: { timestamp: { value: 'date' }, tag: { value: 'daemon' } } },
  },
  refused: { type_log: 'empty' },
}

export const logSummary: Translation = {
  call: { path: '{node}/logs/summary' },
  response: { kind: 'own', shape: 'logSummary' },
}

export const stats: Translation = {
  call: { path: '{node}/stats', params: { date: { format: 'date' } } },
  response: { kind: 'array' },
}

export const hourly: Translation = {
  call: { path: '{node}/stats/hourly' },
  response: { kind: 'one' },
}

export const weekly: Translation = {
  call: { path: '{node}/stats/weekly' },
  response: { kind: 'keyed' },
}

const dropped = (...names: readonly string[]): Readonly<Record<string, FieldRule>> =>
  Object.fromEntries(names.map((name) => [name, { dropped: true }]))

/** Counters that the newer layout lacks (`*_edps`, `hostinfo_events_decoded`, `msg_sent`) are absent. */
export const analysisd: Translation = {
  call: { path: '{node}/stats/analysisd' },
  response: {
    kind: 'one',
    rows: {
      fields: dropped(
        ...['dbsync_messages_dispatched', 'dbsync_queue_usage', 'dbsync_queue_size'],
        ...['upgrade_queue_usage', 'upgrade_queue_size'],
      ),
    },
  },
}

export const remoted: Translation = {
  call: { path: '{node}/stats/remoted' },
  response: { kind: 'one', rows: { fields: dropped('sent_bytes') } },
}

/** The paths of the calls depend on the path of the file. */
export const readFile: Translation = {
  call: { path: '{node}/configuration' },
  plan: 'readFile',
  response: { kind: 'one' },
  errors: { 1415: 1005, 1503: 1005, 1802: 1005 },
}

/** The node checks the contents too. */
const refusedContents = { 1113: 703, 1800: 705, 1912: 607 } as const

export const writeFile: Translation = {
  call: { method: 'PUT', path: '{node}/configuration' },
  plan: 'writeFile',
  response: { kind: 'text', text: 'File updated successfully' },
  errors: refusedContents,
}

export const deleteFile: Translation = {
  call: { path: '{node}/configuration' },
  plan: 'deleteFile',
  response: { kind: 'text', text: 'File was deleted' },
}

export const restart: Translation = {
  call: {
    path: '{node}/restart',
    // Some releases take no `wait_for_complete`, and none waits for the restart.
    endless: true,
    elsewhere: { path: '/cluster/restart', fixed: { nodes_list: '{node}' } },
  },
  plan: 'restart',
  response: { kind: 'text', text: 'Restart request sent' },
}
