/**
 * Records of one node. Each description gives two: `/manager/…` is the node that answers, the master, and
 * `/cluster/:node_id/…` is the named node.
 */
import type { CachePolicy, Endpoint, Param, ReadEndpoint } from '../endpoint.ts'
import { staleWhileHot } from '../schemas/targets.ts'
import {
  component,
  configuration,
  daemons,
  day,
  distinctSince47,
  field,
  logLevel,
  logTag,
  nodeId,
  offset,
  q,
  raw,
  search,
  section,
  selectSince47,
  shortLimit,
  sort,
} from './params.ts'
import { cacheIn, master, read, write } from './record.ts'
import { file } from './values.ts'

const sides = [
  { root: '/manager', section: 'Manager', target: master(), params: {}, group: 'manager', node: '{master}' },
  {
    root: '/cluster/:node_id',
    section: 'Cluster',
    target: master('node'),
    params: { node_id: nodeId },
    group: 'cluster',
    node: '{node_id}',
  },
] as const
type Side = (typeof sides)[number]

interface Fact extends Partial<Pick<ReadEndpoint, 'query' | 'releases' | 'secret' | 'response' | 'priority'>> {
  /** The path behind the root. */
  readonly part: string
  readonly summary: readonly [ofMaster: string, ofNode: string]
  readonly params?: Readonly<Record<string, Param>>
  /** Of the master only. */
  readonly queryOfMaster?: Readonly<Record<string, Param>>
  /** Absent: stored as facts of the node. */
  readonly cache?: (facts: CachePolicy) => CachePolicy
}

/** Settings contain keys of third parties and credentials of modules. */
const settings = {
  secret: 'possible',
  cache: (): CachePolicy => ({ never: 'settings may contain keys and credentials' }),
} as const

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
    query: { raw, section, field },
    queryOfMaster: { distinct: distinctSince47 },
    response: { data: 'items', schema: 'NewerItem', raw: { when: 'raw', type: 'application/xml' } },
  },
  {
    part: 'configuration/:component/:configuration',
    summary: ['Get the active configuration', 'Get the active configuration of a node'],
    ...settings,
    params: { component, configuration },
  },
  {
    part: 'stats',
    summary: ['Get the statistics of a day', 'Get the statistics of a node for a day'],
    query: { date: day },
  },
  { part: 'stats/hourly', summary: ['Get the hourly averages', 'Get the hourly averages of a node'] },
  { part: 'stats/weekly', summary: ['Get the weekly averages', 'Get the weekly averages of a node'] },
  { part: 'stats/analysisd', summary: ['Get the counters of analysisd', 'Get the counters of analysisd on a node'] },
  { part: 'stats/remoted', summary: ['Get the counters of remoted', 'Get the counters of remoted on a node'] },
  {
    part: 'logs',
    summary: ['List log entries', 'List the log entries of a node'],
    query: {
      offset,
      limit: shortLimit,
      sort,
      search,
      tag: logTag,
      level: logLevel,
      q,
      select: selectSince47,
      distinct: distinctSince47,
    },
  },
  {
    part: 'logs/summary',
    summary: ['Count log entries by level', 'Count the log entries of a node by level'],
  },
  {
    part: 'daemons/stats',
    summary: ['Get the statistics of the daemons', 'Get the statistics of the daemons of a node'],
    releases: { since: '4.5' },
    query: { daemons_list: daemons },
  },
]

export const nodes: readonly Endpoint[] = sides.flatMap((side, at) => [
  ...facts.map((fact) => readOf(side, fact, fact.summary[at] ?? '')),
  replaceConfiguration(side, at),
])

function readOf(side: Side, fact: Fact, summary: string): Endpoint {
  const { part, params, query, queryOfMaster, cache = (policy) => policy, ...others } = fact
  const { root, section: title, target, node, group } = side
  return read<string>({
    ...others,
    path: `${root}/${part}`,
    section: title,
    summary,
    permission: 'manager:read',
    rights: ['cluster:read on node:id:{node_id}, *:*:*'],
    target,
    params: { ...side.params, ...params },
    query: { ...query, ...(root === '/manager' && queryOfMaster) },
    cache: cache(cacheIn(group, `node:${node}`, 'node:*')),
  })
}

function replaceConfiguration({ root, section: title, target, params, node }: Side, at: number): Endpoint {
  return write<string>('PUT', {
    path: `${root}/configuration`,
    section: title,
    summary: ['Replace the configuration file', 'Replace the configuration file of a node'][at] ?? '',
    permission: 'files:write',
    rights: ['cluster:update_config on node:id:{node_id}, *:*:*'],
    target,
    params,
    body: file('application/octet-stream'),
    invalidates: ['validation', `node:${node}`, 'collection:nodes', 'cluster', 'rules', 'decoders'],
    writeLock: `configuration:${node}`,
    slow: true,
  })
}
