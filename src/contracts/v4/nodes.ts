/**
 * Records of the cluster, and of one node: of the node that answers, the master (`/manager/…`), and of the named node
 * (`/cluster/:node_id/…`). Each fact of a node gives both. Over 200 lines: a table of records.
 */
import type { CachePolicy, V4Endpoint, V4Read } from '../endpoint.ts'
import { cacheIn, neverStale, staleWhileHot } from '../schemas/shared.ts'
import { laterSymbols, param, query, rows } from './parameters.ts'
import { file, master, read, write } from './shared.ts'
import { bool, integer, list, oneOf, text, wordOf, wordsIn } from './value.ts'

const readingCluster = { permission: 'cluster:read' } as const
const status = {
  ...readingCluster,
  cache: staleWhileHot(cacheIn('cluster', 'cluster', 'collection:nodes')),
  priority: 'health',
} as const
const ofNodes = { ...readingCluster, target: master('several'), query: query('nodes_list') } as const
const restartingNodes = {
  permission: 'cluster:restart',
  rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
  query: query('nodes_list'),
} as const

export const cluster: readonly V4Endpoint[] = [
  read('/cluster/local/info', 'Get the cluster information of the answering node', {
    ...status,
    rights: ['cluster:read on node:id:{node_id}'],
  }),
  read('/cluster/nodes', 'List the nodes of the cluster', {
    ...status,
    rights: ['cluster:read on node:id:{filter_node}'],
    query: query(
      ...rows,
      'select',
      { type: param('type of the nodes', oneOf('worker', 'master')) },
      'nodes_list',
      'q',
      'distinct@4.7',
    ),
    snapshot: 'nodes',
    listsNodes: ['limit', 'sort'],
  }),
  read('/cluster/healthcheck', 'Get the health of the nodes', {
    ...status,
    rights: ['cluster:read on node:id:{filter_node}'],
    query: query('nodes_list'),
  }),
  read('/cluster/status', 'Get the status of the cluster', { ...status, rights: ['cluster:status on *:*:*'] }),
  read('/cluster/local/config', 'Get the cluster configuration of the answering node', {
    ...readingCluster,
    rights: ['cluster:read on node:id:{node_id}'],
    secret: 'always',
    cache: { never: 'contains the cluster key' },
  }),
  read('/cluster/api/config', 'Get the API configuration of nodes', {
    ...ofNodes,
    rights: ['cluster:read_api_config on node:id:{node_id}, *:*:*'],
    withoutLost: { list: 'nodes_list', message: 'Not all API configurations could be read' },
    cache: cacheIn('cluster', 'collection:nodes', 'node:*'),
  }),
  write('PUT', '/cluster/restart', 'Restart nodes', {
    ...restartingNodes,
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
  read('/cluster/configuration/validation', 'Check the configuration of nodes', {
    ...ofNodes,
    rights: ['cluster:read on node:id:{node_id}, *:*:*'],
    withoutLost: { list: 'nodes_list', message: 'Could not check validation in some nodes' },
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  read('/cluster/ruleset/synchronization', 'Check whether nodes have the ruleset of the master', {
    ...ofNodes,
    releases: { since: '4.5' },
    rights: ['cluster:read on node:id:{node_id}'],
    withoutLost: { list: 'nodes_list', message: 'Could not read ruleset synchronization status in some nodes' },
    cache: staleWhileHot(cacheIn('cluster', 'cluster', 'rules', 'decoders', 'lists')),
  }),
  write('PUT', '/cluster/analysisd/reload', 'Reload the ruleset of analysisd on nodes', {
    ...restartingNodes,
    releases: { since: '4.14' },
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Could not send reload request to some specified nodes' },
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'rules', 'decoders', 'lists'],
  }),
  write('PUT', '/cluster/reload', 'Have nodes read their configuration again', {
    ...restartingNodes,
    releases: { since: '5.0' },
    target: master('several'),
    withoutFlags: ['wait_for_complete'],
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation'],
  }),
]

const ofMaster = cacheIn('manager', 'node:{master}', 'node:*')
const reading = { permission: 'manager:read' } as const
const restarting = {
  permission: 'manager:restart',
  rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
} as const

const ofMasterOnly: readonly V4Endpoint[] = [
  read('/manager/api/config', 'Get the API configuration', {
    ...reading,
    rights: ['cluster:read_api_config on node:id:{node_id}, *:*:*'],
    cache: ofMaster,
  }),
  write('PUT', '/manager/restart', 'Restart the manager', {
    ...restarting,
    invalidates: ['node:{master}', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
  read('/manager/configuration/validation', 'Check the configuration', {
    ...reading,
    rights: ['cluster:read on node:id:{node_id}, *:*:*'],
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  read('/manager/version/check', 'Check for newer releases', {
    ...reading,
    releases: { since: '4.9' },
    query: { force_query: param('ask again instead of reading the last result', bool(false)) },
    withoutFlags: ['wait_for_complete'],
    cache: ofMaster,
  }),
  write('PUT', '/manager/analysisd/reload', 'Reload the ruleset of analysisd', {
    ...restarting,
    releases: { since: '4.14' },
    invalidates: ['node:{master}', 'collection:nodes', 'cluster', 'rules', 'decoders', 'lists'],
  }),
]

const sides = [
  { root: '/manager', target: master(), cache: ofMaster, node: '{master}' },
  {
    root: '/cluster/:node_id',
    target: master('node'),
    cache: cacheIn('cluster', 'node:{node_id}', 'node:*'),
    node: '{node_id}',
  },
] as const

type Query = V4Read['query']
interface Fact extends Partial<Pick<V4Read, 'query' | 'releases' | 'secret' | 'response' | 'priority'>> {
  /** The path behind the root. */
  readonly part: string
  readonly summary: readonly [ofMaster: string, ofNode: string]
  /** Of the master only. */
  readonly queryOfMaster?: Query
  /** Absent: stored as facts of the node. */
  readonly cache?: (facts: CachePolicy) => CachePolicy
}

/** Settings contain keys of third parties and credentials of modules. */
const settings = {
  secret: 'possible',
  cache: (): CachePolicy => ({ never: 'settings may contain keys and credentials' }),
} as const

const ofConfiguration: Query = query('raw', {
  section: param('section of the file', {
    ...wordOf(`
      active-response agentless alerts auth client client_buffer cluster command database_output email_alerts global
      integration labels localfile logging remote reports rootcheck ruleset sca socket syscheck syslog_output
      vulnerability-detection indexer aws-s3 azure-logs cis-cat docker-listener open-scap osquery syscollector
      vulnerability-detector`),
    wordReleases: {
      ...wordsIn(
        { until: '4.14' },
        `agentless database_output email_alerts integration labels localfile rootcheck ruleset sca syscheck
        syslog_output aws-s3 azure-logs cis-cat docker-listener open-scap osquery`,
      ),
      'vulnerability-detection': { since: '4.8' },
      indexer: { since: '4.8' },
      'vulnerability-detector': { until: '4.7' },
    },
  }),
  field: param('field of the section', text('names')),
})
const ofLogs: Query = query(
  'offset',
  { limit: param('maximum number of rows', integer({ minimum: 1, maximum: 500, default: 500 })) },
  'sort',
  'search',
  {
    tag: laterSymbols('daemon that wrote the entries'),
    level: param('level of the entries', oneOf('critical', 'debug', 'debug2', 'error', 'info', 'warning')),
  },
  'q',
  'select@4.7',
  'distinct@4.7',
)
const daemons = param(
  'names of daemons',
  list({
    ...wordOf(`
      wazuh-analysisd wazuh-remoted wazuh-db wazuh-manager-analysisd wazuh-manager-remoted wazuh-manager-db`),
    wordReleases: {
      ...wordsIn({ until: '4.14' }, 'wazuh-analysisd wazuh-remoted wazuh-db'),
      ...wordsIn({ since: '5.0' }, 'wazuh-manager-analysisd wazuh-manager-remoted wazuh-manager-db'),
    },
  }),
)

const facts: readonly Fact[] = [
  {
    part: 'status',
    summary: ['Get the status of the daemons', 'Get the status of the daemons of a node'],
    cache: staleWhileHot,
    priority: 'health',
  },
  { part: 'info', summary: ['Get basic information about the manager', 'Get basic information about a node'] },
  {
    part: 'configuration',
    summary: ['Get the configuration file', 'Get the configuration file of a node'],
    ...settings,
    query: ofConfiguration,
    queryOfMaster: query('distinct@4.7'),
    response: { data: 'items', schema: 'V4Item', raw: { when: 'raw', type: 'application/xml' } },
  },
  {
    part: 'configuration/:component/:configuration',
    summary: ['Get the active configuration', 'Get the active configuration of a node'],
    ...settings,
  },
  {
    part: 'stats',
    summary: ['Get the statistics of a day', 'Get the statistics of a node for a day'],
    query: { date: param('day', text('date')) },
  },
  { part: 'stats/hourly', summary: ['Get the hourly averages', 'Get the hourly averages of a node'] },
  { part: 'stats/weekly', summary: ['Get the weekly averages', 'Get the weekly averages of a node'] },
  { part: 'stats/analysisd', summary: ['Get the counters of analysisd', 'Get the counters of analysisd on a node'] },
  { part: 'stats/remoted', summary: ['Get the counters of remoted', 'Get the counters of remoted on a node'] },
  { part: 'logs', summary: ['List log entries', 'List the log entries of a node'], query: ofLogs },
  { part: 'logs/summary', summary: ['Count log entries by level', 'Count the log entries of a node by level'] },
  {
    part: 'daemons/stats',
    summary: ['Get the statistics of the daemons', 'Get the statistics of the daemons of a node'],
    releases: { since: '4.5' },
    query: { daemons_list: daemons },
  },
]

const ofBoth: readonly V4Endpoint[] = sides.flatMap(({ root, node, ...side }, at) => [
  ...facts.map(({ part, summary, query = {}, queryOfMaster, cache = (policy) => policy, ...fact }) =>
    read<string>(`${root}/${part}`, summary[at] ?? '', {
      ...side,
      ...fact,
      permission: 'manager:read',
      rights: ['cluster:read on node:id:{node_id}, *:*:*'],
      query: { ...query, ...(root === '/manager' && queryOfMaster) },
      cache: cache(side.cache),
    }),
  ),
  write<string>('PUT', `${root}/configuration`, `Replace the configuration file${at === 0 ? '' : ' of a node'}`, {
    permission: 'files:write',
    rights: ['cluster:update_config on node:id:{node_id}, *:*:*'],
    target: side.target,
    body: file('application/octet-stream'),
    invalidates: ['validation', `node:${node}`, 'collection:nodes', 'cluster', 'rules', 'decoders'],
    writeLock: `configuration:${node}`,
    slow: true,
  }),
])

export const nodes: readonly V4Endpoint[] = [...ofMasterOnly, ...ofBoth]
