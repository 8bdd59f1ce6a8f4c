import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { filter, hiddenQ, hiddenSelect, list, select } from './schemas/params.ts'
import { collectionOf, objectOf } from './schemas/responses.ts'
import { cacheIn, everyNode, master, masterItself, neverStale, staleWhileHot } from './schemas/targets.ts'

/** Records of the cluster as a whole: nodes, health, and operations on all nodes. */

const section = 'Cluster-only endpoints'
/** Clients decide by it which nodes are ready. */
const statusOfNow = staleWhileHot(cacheIn('cluster', 'cluster'))
const reading = { section, permission: 'cluster:read', target: master, cache: statusOfNow } as const

export const cluster: readonly Endpoint[] = [
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
    snapshot: 'nodes',
    listsNodes: ['limit', 'sort'],
  }),
  read('/cluster/nodes/:node_name', 'One node', {
    ...reading,
    params: { node_name: filter('names', 'node name') },
    query: { select: { ...hiddenSelect, note: 'no effect', selectsNothing: true } },
    response: objectOf('Node'),
  }),
  read('/cluster/configuration/validation', 'Is the configuration of all nodes valid?', {
    ...reading,
    section: 'Manager and cluster nodes',
    // Clients restart all nodes if the verdict is OK, so a missing node must fail the request.
    target: everyNode('verdict', 'fail'),
    response: objectOf('ValidationResult'),
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  write('PUT', '/cluster/restart', 'Restart all nodes', {
    section,
    permission: 'cluster:restart',
    target: everyNode('message', 'fail'),
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
]
