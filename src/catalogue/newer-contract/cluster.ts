/** Records of the cluster and its nodes. */
import type { Endpoint } from '../endpoint.ts'
import { neverStale, staleWhileHot, withSnapshot } from '../schemas/targets.ts'
import { distinctSince47, nodesList, q, rows, select } from './params.ts'
import { cacheIn, master, read, write } from './record.ts'
import { oneOf, param } from './values.ts'

const status = {
  section: 'Cluster',
  permission: 'cluster:read',
  target: master(),
  cache: staleWhileHot(cacheIn('cluster', 'cluster', 'collection:nodes')),
  priority: 'health',
} as const

export const cluster: readonly Endpoint[] = [
  read({
    ...status,
    path: '/cluster/local/info',
    summary: 'Get the cluster information of the answering node',
    rights: ['cluster:read on node:id:{node_id}'],
  }),
  read({
    ...status,
    path: '/cluster/nodes',
    summary: 'List the nodes of the cluster',
    rights: ['cluster:read on node:id:{filter_node}'],
    query: {
      ...rows,
      select,
      type: param('type of the nodes', oneOf('worker', 'master')),
      nodes_list: nodesList,
      q,
      distinct: distinctSince47,
    },
    cache: withSnapshot('nodes', status.cache),
  }),
  read({
    ...status,
    path: '/cluster/healthcheck',
    summary: 'Get the health of the nodes',
    rights: ['cluster:read on node:id:{filter_node}'],
    query: { nodes_list: nodesList },
  }),
  read({
    ...status,
    path: '/cluster/status',
    summary: 'Get the status of the cluster',
    rights: ['cluster:status on *:*:*'],
  }),
  read({
    path: '/cluster/local/config',
    section: 'Cluster',
    summary: 'Get the cluster configuration of the answering node',
    permission: 'cluster:read',
    rights: ['cluster:read on node:id:{node_id}'],
    secret: 'always',
    target: master(),
    cache: { never: 'contains the cluster key' },
  }),
  read({
    path: '/cluster/api/config',
    section: 'Cluster',
    summary: 'Get the API configuration of nodes',
    permission: 'cluster:read',
    rights: ['cluster:read_api_config on node:id:{node_id}, *:*:*'],
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Not all API configurations could be read' },
    query: { nodes_list: nodesList },
    cache: cacheIn('cluster', 'collection:nodes', 'node:*'),
  }),
  write('PUT', {
    path: '/cluster/restart',
    section: 'Cluster',
    summary: 'Restart nodes',
    permission: 'cluster:restart',
    rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
    target: master(),
    query: { nodes_list: nodesList },
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
  read({
    path: '/cluster/configuration/validation',
    section: 'Cluster',
    summary: 'Check the configuration of nodes',
    permission: 'cluster:read',
    rights: ['cluster:read on node:id:{node_id}, *:*:*'],
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Could not check validation in some nodes' },
    query: { nodes_list: nodesList },
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  read({
    path: '/cluster/ruleset/synchronization',
    section: 'Cluster',
    summary: 'Check whether nodes have the ruleset of the master',
    releases: { since: '4.5' },
    permission: 'cluster:read',
    rights: ['cluster:read on node:id:{node_id}'],
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Could not read ruleset synchronization status in some nodes' },
    query: { nodes_list: nodesList },
    cache: staleWhileHot(cacheIn('cluster', 'cluster', 'rules', 'decoders', 'lists')),
  }),
  write('PUT', {
    path: '/cluster/analysisd/reload',
    section: 'Cluster',
    summary: 'Reload the ruleset of analysisd on nodes',
    releases: { since: '4.14' },
    permission: 'cluster:restart',
    rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
    target: master('several'),
    withoutLost: { list: 'nodes_list', message: 'Could not send reload request to some specified nodes' },
    query: { nodes_list: nodesList },
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'rules', 'decoders', 'lists'],
  }),
]
