/**
 * Records of the cluster, and of facts and operations of a node: `/manager/…` and its twin `/cluster/:node_id/…`.
 * Over 200 lines: a table of records.
 */
import type { ConditionalTags, Tag, V3Endpoint } from '../endpoint.ts'
import { read, write } from '../record.ts'
import {
  deletePath,
  failingSelect,
  filter,
  hiddenQ,
  hiddenSelect,
  list,
  readPath,
  select,
  writePath,
} from '../schemas/params.ts'
import {
  cacheIn,
  collectionOf,
  everyNode,
  master,
  masterItself,
  neverStale,
  objectOf,
  staleWhileHot,
  textOf,
} from '../schemas/shared.ts'
import { isOfNode, readTwins, severalNodes, writeTwins } from '../schemas/twins.ts'

/** Clients decide by it which nodes are ready. */
const statusOfNow = staleWhileHot(cacheIn('cluster', 'cluster'))
const reading = { permission: 'cluster:read', target: master, cache: statusOfNow } as const

const cluster: readonly V3Endpoint[] = [
  read('/cluster/config', 'Cluster configuration', {
    ...reading,
    target: masterItself,
    secret: 'always',
    response: objectOf('ClusterConfiguration'),
    cache: { never: 'contains the cluster key' },
  }),
  read('/cluster/status', 'Is the cluster enabled and running?', {
    ...reading,
    response: objectOf('ClusterStatus'),
    priority: 'health',
  }),
  read('/cluster/healthcheck', 'Health of the nodes', {
    ...reading,
    query: { node: { ...filter('names', 'node-name filter'), note: 'an unknown name gives an empty list' } },
    response: objectOf('ClusterHealth'),
    priority: 'health',
  }),
  read('/cluster/node', 'The node that answers: the master', {
    ...reading,
    target: masterItself,
    response: objectOf('LocalNode'),
    priority: 'health',
  }),
  read('/cluster/nodes', 'Connected nodes', {
    ...reading,
    query: {
      ...list,
      q: hiddenQ,
      type: {
        ...filter('alphanumeric', 'node type filter'),
        default: 'all',
        allowed: ['master', 'worker', 'all'],
        note: 'other values give 1728',
      },
      select,
    },
    response: collectionOf('Node'),
    cache: statusOfNow,
    priority: 'health',
    snapshot: 'nodes',
    listsNodes: ['limit', 'sort'],
  }),
  read('/cluster/nodes/:node_name', 'One node', {
    ...reading,
    params: { node_name: filter('names', 'node name') },
    query: { select: { ...hiddenSelect, note: 'no effect', selectsNothing: true } },
    response: objectOf('Node'),
    priority: 'health',
  }),
  read('/cluster/configuration/validation', 'Is the configuration of all nodes valid?', {
    ...reading,
    // Clients restart all nodes if the verdict is OK, so a missing node must fail the request.
    target: everyNode,
    response: objectOf('ValidationResult'),
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  write('PUT', '/cluster/restart', 'Restart all nodes', {
    permission: 'cluster:restart',
    target: everyNode,
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
]

const permission = 'manager:read'
/** Settings contain the cluster key, keys of third parties and credentials of modules. */
const settings = { secret: 'possible', cache: { never: 'settings may contain keys and credentials' } } as const

/** Has no effect, but real clients send it. */
const ignoredNumber = { ...filter('numbers', 'no effect'), beyondSeed: true } as const

/** Clients decide by it whether the manager is ready. */
const watched = { isStatus: true, priority: 'health' } as const

const mixed = { isMixedByCluster: true } as const

const facts = [
  { part: 'info', summary: 'Basic information', response: objectOf('ManagerInfo') },
  { part: 'status', summary: 'Status of the daemons', response: objectOf('DaemonStatus'), ...watched },
  { part: 'logs/summary', summary: 'Log entries counted by tag', response: objectOf('LogSummary') },
  { part: 'stats/hourly', summary: 'Averages of each hour', response: objectOf('HourlyAverages') },
  { part: 'stats/weekly', summary: 'Averages of each hour of the week', response: objectOf('WeeklyAverages') },
  { part: 'stats/analysisd', summary: 'Counters of analysisd', response: objectOf('AnalysisdStats'), ...mixed },
  { part: 'stats/remoted', summary: 'Counters of remoted', response: objectOf('RemotedStats'), ...mixed },
] as const

const reads: readonly V3Endpoint[] = [
  ...facts.flatMap((fact) => readTwins({ permission, ...fact })),
  ...readTwins({
    part: 'configuration',
    summary: 'Configuration file, by section',
    query: {
      section: {
        ...filter('names', 'section'),
        allowed: sections(),
        note: 'an unknown section gives 1102, a section that is not in the file 1106; absent: the whole file',
      },
      field: {
        ...filter('names', 'child field of the section'),
        requires: 'section',
        note: 'an unknown field gives 1103',
      },
    },
    permission,
    ...settings,
    response: objectOf('Configuration'),
  }),
  ...readTwins({
    part: 'config/:component/:configuration',
    summary: 'Active configuration of a component',
    permission,
    ...settings,
    response: objectOf('Configuration'),
  }),
  ...readTwins({
    part: 'configuration/validation',
    summary: 'Is the configuration valid?',
    permission,
    response: objectOf('ValidationResult'),
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  ...readTwins({
    part: 'logs',
    summary: 'Log entries',
    query: {
      ...list,
      q: hiddenQ,
      type_log: {
        ...filter('names', 'log type'),
        default: 'all',
        allowed: ['all', 'error', 'warning', 'info', 'critical', 'debug'],
      },
      category: { ...filter('search', 'log category'), default: 'all', note: 'the exact tag of a daemon' },
      select: failingSelect,
    },
    permission,
    response: collectionOf('LogEntry'),
    storedRows: 'logs',
  }),
  ...readTwins({
    part: 'stats',
    summary: 'Statistics of each hour of a day',
    query: { date: { ...filter('dates', 'date String YYYYMMDD'), note: 'absent: today, by the clock of the node' } },
    permission,
    response: { data: 'array', schema: 'HourStats' },
  }),
  ...readTwins({
    part: 'files',
    summary: 'Contents of a file',
    query: {
      offset: ignoredNumber,
      limit: ignoredNumber,
      path: readPath,
      validation: {
        ...filter('boolean', 'validation flag'),
        default: false,
        note: 'true: an invalid list gives 1800, invalid XML 1113',
      },
    },
    permission: 'files:read',
    secret: 'possible',
    response: textOf('FileContents'),
    cache: { never: 'the contents of a file' },
  }),
]

function sections(): readonly string[] {
  return (
    'active-response agentless alerts auth cis-cat client cluster command database_output email_alerts global ' +
    'integration labels localfile open-scap osquery remote reports rootcheck ruleset sca syscheck syscollector ' +
    'syslog_output vulnerability-detector'
  ).split(' ')
}

/** The folder of a file determines which data a write to the file changes. File contents are never stored. */
function staleByFile(node: Tag): readonly (Tag | ConditionalTags)[] {
  const within = (folder: string, ...tags: readonly Tag[]): ConditionalTags => ({
    value: 'query.path',
    matches: `^${folder}`,
    tags,
  })
  return [
    'validation',
    within('etc/rules/', 'rules'),
    within('etc/decoders/', 'decoders'),
    within('etc/lists/', 'lists'),
    within('etc/ossec\\.conf$', node, 'collection:nodes', 'cluster', 'rules', 'decoders'),
  ]
}

const writes: readonly V3Endpoint[] = [
  ...writeTwins('POST', {
    part: 'files',
    summary: 'Put a file',
    query: {
      path: writePath,
      overwrite: {
        ...filter('boolean', 'overwrite flag'),
        default: false,
        note: 'without it, an existing file gives 1905',
      },
    },
    body: {
      kind: 'upload',
      types: ['application/xml', 'application/octet-stream'],
      wrongType: 804,
      xmlWhen: { query: 'path', matches: '^(?!etc/lists/)' },
    },
    permission: 'files:write',
    invalidates: staleByFile,
    writeLock: (node) => `file:${node}:{query.path}`,
  }),
  ...writeTwins('DELETE', {
    part: 'files',
    summary: 'Delete a file',
    query: { path: deletePath },
    permission: 'files:delete',
    invalidates: staleByFile,
    writeLock: (node) => `file:${node}:{query.path}`,
  }),
  ...writeTwins('PUT', {
    part: 'restart',
    summary: 'Restart',
    permission: 'manager:restart',
    // Agents reconnect, possibly to another node.
    invalidates: (node) => [node, 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
]

const manager: readonly V3Endpoint[] = [...reads, ...writes, ...reads.filter(isOfNode).map(severalNodes)]

export const nodes: readonly V3Endpoint[] = [...manager, ...cluster]
