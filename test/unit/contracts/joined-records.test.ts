import t from 'tap'
import type { Endpoint, ReadEndpoint, Target, WriteEndpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { read, write } from '../../../src/contracts/record.ts'
import { agentFilter, filter, list, nodeIds, pathParams } from '../../../src/contracts/schemas/params.ts'
import {
  agentOwner,
  allAgents,
  cacheIn,
  collectionOf,
  everyNode,
  masterByTwin,
  message,
  neverStale,
  objectOf,
} from '../../../src/contracts/schemas/shared.ts'
import { checkCatalogue } from './checks/index.ts'

const { agent_id: agentId, node_id: nodeId } = pathParams

const common = { permission: 'a:read' } as const
/** The checks do not depend on translations. */
const translation = { call: { path: '/x' }, response: { kind: 'object' } } as const
const ofMaster: Endpoint = read('/manager/x', 's', {
  ...common,
  target: masterByTwin,
  translation,
  response: objectOf('Agent'),
  cache: cacheIn('manager', 'node:{master}', 'node:*'),
})
const ofNode: Endpoint = read('/cluster/:node_id/x', 's', {
  ...common,
  params: { node_id: nodeId },
  target: { kind: 'node', twin: '/manager/x', throughOthers: true },
  translation,
  response: objectOf('Agent'),
  cache: cacheIn('cluster', 'node:{node_id}', 'node:*'),
})
const several: ReadEndpoint = read<string>('/cluster/:node_ids/x', 's', {
  ...common,
  params: { node_ids: nodeIds },
  query: list,
  target: { kind: 'severalNodes', ofNode: '/cluster/:node_id/x' },
  response: collectionOf('Agent'),
  cache: cacheIn('cluster', 'collection:nodes', 'node:*'),
})
const ofAgent: ReadEndpoint = read<string>('/os/:agent_id/x', 's', {
  ...common,
  params: { agent_id: agentId },
  query: list,
  target: agentOwner,
  translation,
  response: collectionOf('Agent'),
  cache: cacheIn('syscollector', 'syscollector:{agent_id}', 'syscollector:*'),
  snapshot: 'os',
})
const all: ReadEndpoint = read<string>('/experimental/x', 's', {
  ...common,
  params: {},
  query: { ...list, agent_id: agentFilter },
  target: allAgents('/os/:agent_id/x'),
  translation,
  response: collectionOf('Agent'),
  cache: cacheIn('syscollector', 'collection:syscollector'),
  snapshot: 'os',
})
const restart: WriteEndpoint = write<string>('PUT', '/cluster/:node_id/restart', 's', {
  ...common,
  params: { node_id: nodeId },
  target: { kind: 'node', twin: '/manager/restart', throughOthers: true },
  translation,
  response: message,
  invalidates: ['node:{node_id}', 'collection:nodes'],
})
const restartMaster: Endpoint = {
  ...restart,
  path: '/manager/restart',
  params: {},
  target: masterByTwin,
  invalidates: ['node:*'],
}

const nodes = (change: Partial<ReadEndpoint>): readonly Endpoint[] => [ofMaster, ofNode, { ...several, ...change }]
const agents = (change: Partial<ReadEndpoint>, part: Partial<ReadEndpoint> = {}): readonly Endpoint[] => [
  { ...ofAgent, ...part },
  { ...all, ...change },
]
const writes = (change: Partial<WriteEndpoint>): readonly Endpoint[] => [
  ofMaster,
  ofNode,
  several,
  restartMaster,
  { ...restart, ...change },
]
const severalOf = (path: `/cluster/:node_id/${string}`): Target => ({ kind: 'severalNodes', ofNode: path })

const illegal: Readonly<Record<string, readonly [readonly Endpoint[], RegExp]>> = {
  'a write to several nodes': [
    [ofMaster, ofNode, { ...restart, path: several.path, params: several.params, target: several.target }],
    /writes to several nodes are not supported; use GET/,
  ],
  'several nodes without a record of one': [
    nodes({ target: severalOf('/cluster/:node_id/y') }),
    /is not a record of one node; add it/,
  ],
  'several nodes with another path': [
    nodes({ path: '/cluster/:node_ids/z' }),
    /the path does not match \/cluster\/:node_id\/x/,
  ],
  'several nodes that match every value': [
    nodes({ params: { node_ids: nodeId } }),
    /cannot distinguish several nodes from one; describe/,
  ],
  'several nodes and one node on the same route': [
    nodes({ params: { node_ids: nodeId } }),
    /the route is the same as GET \/cluster\/:node_id\/x/,
  ],
  'several nodes without a collection': [
    nodes({ response: objectOf('Agent') }),
    /form a collection; set response to collectionOf/,
  ],
  'several nodes with unknown rows': [
    [ofMaster, { ...ofNode, response: collectionOf('Agent') } as Endpoint, several],
    /sort order of its rows is unknown; set storedRows/,
  ],
  'several nodes with a weaker permission': [
    nodes({ permission: 'b:read' }),
    /requires a:read; set permission to that/,
  ],
  'several nodes with a weaker secret': [
    [ofMaster, { ...ofNode, secret: 'possible', cache: { never: 'x' } } as Endpoint, several],
    /has secret possible; set secret to that/,
  ],
  'a stored whole of parts that are never stored': [
    [ofMaster, { ...ofNode, cache: { never: 'x' } } as Endpoint, several],
    /is never stored but this record is; set cache to \{never: reason\}/,
  ],
  'a whole that may be stale although its parts may not': [
    [ofMaster, { ...ofNode, cache: neverStale(cacheIn('cluster', 'node:{node_id}', 'node:*')) } as Endpoint, several],
    /is served stale less than this record; set stale of its cache to 'never'/,
  ],
  'a whole that outlives its parts': [
    writes({ invalidates: ['node:{node_id}'] }),
    /PUT \/cluster\/:node_id\/restart invalidates parts of it but not the whole; add one of collection:nodes/,
  ],
  'a whole that outlives its parts under a condition': [
    writes({
      query: { path: filter('paths', 'x') },
      invalidates: ['cluster', { value: 'query.path', matches: '^etc/', tags: ['node:{node_id}'] }],
    }),
    /invalidates parts of it but not the whole/,
  ],
  'all agents with unknown rows': [
    agents({ cache: cacheIn('syscollector', 'collection:syscollector') }),
    /sort order of its rows is unknown; set snapshot/,
  ],
  'all agents without a record of one': [
    agents({ target: allAgents('/os/:agent_id/y') }),
    /is not a record of one agent; add it/,
  ],
  'all agents with a record of the master': [
    agents({}, { target: { kind: 'master', through: 'any' } }),
    /is not a record of one agent/,
  ],
  'all agents with other rows': [
    agents({ cache: { group: 'syscollector', tags: ['collection:syscollector'], snapshot: 'ports' } }),
    /has other rows; set the same/,
  ],
  'a filter that one agent lacks': [
    agents({ query: { ...list, pid: filter('numbers', 'x'), agent_id: agentFilter } }),
    /has no pid; add it to both/,
  ],
  'a filter that the edge cannot evaluate': [
    agents({ target: everyNode }),
    /the edge cannot evaluate agent_id; remove edgeOnly, or set ofAgent/,
  ],
  'ofAgent without a collection': [
    agents({
      response: objectOf('Agent'),
      target: { kind: 'everyNode', ofAgent: '/os/:agent_id/x' },
    }),
    /ofAgent applies to joined collections only/,
  ],
  'a read with a write lock': [
    [{ ...all, writeLock: 'x' } as Endpoint, ofAgent],
    /a read needs no lock; remove writeLock/,
  ],
  'a write lock with an unknown placeholder': [
    writes({ writeLock: 'file:{query.path}' }),
    /file:\{query\.path\} has an unknown placeholder/,
  ],
  'a write lock named by the response': [
    writes({ writeLock: 'agent:{answer.id}' }),
    /agent:\{answer\.id\} has an unknown placeholder/,
  ],
  'a route pattern in the query': [
    agents({ query: { ...list, agent_id: { ...agentFilter, routePattern: '^x$' } } }),
    /routePattern applies to path parameters and agent_id is in the query; remove it/,
  ],
  'a route pattern that is not anchored': [
    nodes({ params: { node_ids: { ...nodeIds, routePattern: '[*]' } } }),
    /routePattern of node_ids is not anchored; write \^/,
  ],
}

t.test('correct records have no faults', async (t) => {
  t.strictSame(checkCatalogue(writes({ writeLock: 'node:{node_id}' })), [])
  t.strictSame(checkCatalogue(agents({})), [])
  t.strictSame(checkCatalogue(agents({}, { response: objectOf('Agent'), query: {} })), [], 'one object of an agent')
})

t.test('incorrect records are rejected, with the remedy', async (t) => {
  for (const [what, [records, message]] of Object.entries(illegal)) {
    const faults = checkCatalogue(records)
    t.ok(
      faults.some((fault) => message.test(fault)),
      `${what}: ${faults.join('\n') || 'no fault found'}`,
    )
    for (const fault of faults) t.match(fault, /^(?:GET|POST|PUT|DELETE) \S+: .+; .+/, 'record: fault; remedy')
  }
})

t.test('every read of one node exists for several nodes with the same permission', async (t) => {
  const one = catalogue.filter(({ method, target }) => method === 'GET' && target.kind === 'node')
  t.not(one.length, 0)
  for (const { path, permission, secret, query } of one) {
    const record = catalogue.find(({ path: other }) => other === path.replace(':node_id', ':node_ids'))
    t.match(record, { permission, secret, target: { kind: 'severalNodes', ofNode: path }, beyondSeed: true }, path)
    t.strictSame(Object.keys(record?.query ?? {}).slice(0, 4), ['offset', 'limit', 'sort', 'search'])
    for (const name of Object.keys(query)) t.ok(record?.query[name], `${path}?${name}`)
  }
})

t.test('only adding agents and moving files needs a write lock', async (t) => {
  const turns = Object.fromEntries(
    catalogue.flatMap((record) =>
      'writeLock' in record && record.writeLock ? [[`${record.method} ${record.path}`, record.writeLock]] : [],
    ),
  )
  t.strictSame(turns, {
    'POST /agents': 'registration',
    'PUT /agents/:agent_name': 'registration',
    'POST /agents/insert': 'registration',
    'POST /agents/groups/:group_id/configuration': 'file:group:{group_id}',
    'POST /agents/groups/:group_id/files/:file_name': 'file:group:{group_id}',
    'POST /manager/files': 'file:{master}:{query.path}',
    'POST /cluster/:node_id/files': 'file:{node_id}:{query.path}',
    'DELETE /manager/files': 'file:{master}:{query.path}',
    'DELETE /cluster/:node_id/files': 'file:{node_id}:{query.path}',
  })
})
