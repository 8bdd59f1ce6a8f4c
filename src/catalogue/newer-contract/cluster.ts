/** Records of the cluster and its nodes. */
import type { Endpoint } from '../endpoint.ts'
import { cacheIn, neverStale, staleWhileHot } from '../schemas/targets.ts'
import { query, rows } from './params.ts'
import { master, read, write } from './record.ts'
import { oneOf, param } from './values.ts'

const reading = { section: 'Cluster', permission: 'cluster:read', target: master() } as const
const status = {
  ...reading,
  cache: staleWhileHot(cacheIn('cluster', 'cluster', 'collection:nodes')),
  priority: 'health',
} as const
const ofNodes = { ...reading, target: master('several'), query: query('nodes_list') } as const
const restarting = {
  section: 'Cluster',
  permission: 'cluster:restart',
  rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
  query: query('nodes_list'),
} as const

export const cluster: readonly Endpoint[] = [
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
  }),
  read('/cluster/healthcheck', 'Get the health of the nodes', {
    ...status,
    rights: ['cluster:read on node:id:{filter_node}'],
    query: query('nodes_list'),
  }),
  read('/cluster/status', 'Get the status of the cluster', { ...status, rights: ['cluster:status on *:*:*'] }),
  read('/cluster/local/config', 'Get the cluster configuration of the answering node', {
    ...reading,
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
    ...restarting,
    target: master(),
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
    ...restarting,
    releases: { since: '4.14' },
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Could not send reload request to some specified nodes' },
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'rules', 'decoders', 'lists'],
  }),
]
