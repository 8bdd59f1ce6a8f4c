import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { filter, hiddenQ, hiddenSelect, list, select } from './schemas/params.ts'
import { collectionOf, message, objectOf } from './schemas/responses.ts'
import { cacheIn, everyNode, master, masterItself, neverStale, staleWhileHot, withSnapshot } from './schemas/targets.ts'

/** Records of the cluster as a whole: nodes, health, and operations on all nodes. */

const section = 'Cluster-only endpoints'
/** Clients decide by it which nodes are ready. */
const statusOfNow = staleWhileHot(cacheIn('cluster', 'cluster'))
const reading = { section, permission: 'cluster:read', target: master, cache: statusOfNow } as const

export const cluster: readonly Endpoint[] = [
  read({
    path: '/cluster/config',
    summary: 'Cluster configuration',
    ...reading,
    target: masterItself,
    secret: 'always',
    response: objectOf('ClusterConfiguration'),
    cache: { never: 'contains the cluster key' },
  }),
  read({
    path: '/cluster/status',
    summary: 'Is the cluster enabled and running?',
    ...reading,
    response: objectOf('ClusterStatus'),
    priority: 'health',
  }),
  read({
    path: '/cluster/healthcheck',
    summary: 'Health of the nodes',
    ...reading,
    query: { node: { ...filter('names', 'node-name filter'), note: 'an unknown name gives an empty list' } },
    strictQuery: true,
    response: objectOf('ClusterHealth'),
    priority: 'health',
  }),
  read({
    path: '/cluster/node',
    summary: 'The node that answers: the master',
    ...reading,
    target: masterItself,
    response: objectOf('LocalNode'),
    priority: 'health',
  }),
  read({
    path: '/cluster/nodes',
    summary: 'Connected nodes',
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
    strictQuery: true,
    response: collectionOf('Node'),
    cache: withSnapshot('nodes', statusOfNow),
    listsNodes: ['limit', 'sort'],
  }),
  read({
    path: '/cluster/nodes/:node_name',
    summary: 'One node',
    ...reading,
    params: { node_name: filter('names', 'node name') },
    query: { select: { ...hiddenSelect, note: 'no effect', selectsNothing: true } },
    strictQuery: true,
    response: objectOf('Node'),
  }),
  read({
    path: '/cluster/configuration/validation',
    summary: 'Is the configuration of all nodes valid?',
    ...reading,
    section: 'Manager and cluster nodes',
    // Clients restart all nodes if the verdict is OK, so a missing node must fail the request.
    target: everyNode('verdict', 'fail'),
    response: objectOf('ValidationResult'),
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  write('PUT', {
    path: '/cluster/restart',
    summary: 'Restart all nodes',
    section,
    permission: 'cluster:restart',
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['node:*', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
]
