import t from 'tap'
import { checkCatalogue } from '../../../src/catalogue/checks/index.ts'
import type { Endpoint, ReadEndpoint, Target, WriteEndpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { read, write } from '../../../src/catalogue/record.ts'
import { agentFilter, agentId, filter, list, nodeId, nodeIds } from '../../../src/catalogue/schemas/params.ts'
import { collectionOf, message, objectOf } from '../../../src/catalogue/schemas/responses.ts'
import { agentOwner, allAgents, everyNode, keepIn, masterByTwin } from '../../../src/catalogue/schemas/targets.ts'

const common = { summary: 's', section: 's', permission: 'a:read' } as const
const ofMaster: Endpoint = read({
  ...common,
  path: '/manager/x',
  target: masterByTwin,
  response: objectOf('x'),
  cache: keepIn('manager', 'node:{master}', 'node:*'),
})
const ofNode: Endpoint = read({
  ...common,
  path: '/cluster/:node_id/x',
  params: { node_id: nodeId },
  target: { kind: 'node', twin: '/manager/x' },
  response: objectOf('x'),
  cache: keepIn('cluster', 'node:{node_id}', 'node:*'),
})
const several: ReadEndpoint = read<string>({
  ...common,
  path: '/cluster/:node_ids/x',
  params: { node_ids: nodeIds },
  query: list,
  target: { kind: 'severalNodes', ofNode: '/cluster/:node_id/x' },
  response: collectionOf('x', 'nodeAnswers'),
  cache: keepIn('cluster', 'collection:nodes', 'node:*'),
})
const ofAgent: ReadEndpoint = read<string>({
  ...common,
  path: '/os/:agent_id/x',
  params: { agent_id: agentId },
  query: list,
  target: agentOwner,
  response: collectionOf('x', 'os'),
  cache: keepIn('syscollector', 'syscollector:{agent_id}', 'syscollector:*'),
})
const all: ReadEndpoint = read<string>({
  ...common,
  path: '/experimental/x',
  params: {},
  query: { ...list, agent_id: agentFilter },
  target: allAgents('/os/:agent_id/x'),
  response: collectionOf('x', 'os'),
  cache: keepIn('syscollector', 'collection:syscollector'),
  experimental: true,
})
const restart: WriteEndpoint = write<string>('PUT', {
  ...common,
  path: '/cluster/:node_id/restart',
  params: { node_id: nodeId },
  target: { kind: 'node', twin: '/manager/restart' },
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
    /a write to several nodes is refused; make it a GET/,
  ],
  'several of nothing': [nodes({ target: severalOf('/cluster/:node_id/y') }), /is no record of one node; describe it/],
  'several of another path': [nodes({ path: '/cluster/:node_ids/z' }), /it is not \/cluster\/:node_id\/x of several/],
  'several that take every value': [nodes({ params: { node_ids: nodeId } }), /not told apart from one node; describe/],
  'several and one on one route': [nodes({ params: { node_ids: nodeId } }), /the route is GET \/cluster\/:node_id\/x/],
  'several that are no collection': [
    nodes({ response: objectOf('x') }),
    /are one collection; set answer to collectionOf/,
  ],
  'several whose rows nobody knows': [
    nodes({ response: collectionOf('x') }),
    /how its rows sort; name them in answer\.rows/,
  ],
  'more may read several than one': [nodes({ permission: 'b:read' }), /needs a:read; set permission to that/],
  'a secret that several do not speak of': [
    [ofMaster, { ...ofNode, secret: 'possible', cache: { never: 'x' } } as Endpoint, several],
    /says possible of secrets; set secret to that/,
  ],
  'a whole of what is never kept': [
    [ofMaster, { ...ofNode, cache: { never: 'x' } } as Endpoint, several],
    /is never kept and it is; set keep to \{never: why\}/,
  ],
  'a whole that outlives its parts': [
    writes({ invalidates: ['node:{node_id}'] }),
    /PUT \/cluster\/:node_id\/restart drops parts of it and not the whole; add one of collection:nodes/,
  ],
  'a whole that outlives its parts under a condition': [
    writes({
      query: { path: filter('paths', 'x') },
      invalidates: ['cluster', { value: 'query.path', matches: '^etc/', tags: ['node:{node_id}'] }],
    }),
    /drops parts of it and not the whole/,
  ],
  'rows of all agents that nobody knows': [agents({ response: collectionOf('x') }), /how its rows sort; name them/],
  'all agents of nothing': [agents({ target: allAgents('/os/:agent_id/y') }), /is no record of one agent; describe it/],
  'all agents of the master': [agents({}, { target: { kind: 'master', through: 'any' } }), /is no record of one agent/],
  'all agents of other rows': [agents({ response: collectionOf('x', 'ports') }), /are others; give both the same/],
  'a filter that one agent lacks': [
    agents({ query: { ...list, pid: filter('numbers', 'x'), agent_id: agentFilter } }),
    /lacks pid; describe it in both/,
  ],
  'a filter that nobody answers': [
    agents({ target: everyNode('collection', 'label') }),
    /nobody answers by agent_id; leave here out, or name the record of one agent/,
  ],
  'ofAgent of what is no collection': [
    agents({
      response: objectOf('x', 'os'),
      target: { kind: 'everyNode', merge: 'verdict', whenPartial: 'fail', ofAgent: '/os/:agent_id/x' },
    }),
    /ofAgent reads rows and nothing of it is a collection/,
  ],
  'a read in turn': [[{ ...all, writeLock: 'x' } as Endpoint, ofAgent], /reads disturb nobody; remove writeLock/],
  'a turn named by nothing': [
    writes({ writeLock: 'file:{query.path}' }),
    /file:\{query\.path\} is filled from nothing/,
  ],
  'a turn named by the answer': [
    writes({ writeLock: 'agent:{answer.id}' }),
    /agent:\{answer\.id\} is filled from nothing/,
  ],
  'a route told apart in the query': [
    agents({ query: { ...list, agent_id: { ...agentFilter, routePattern: '^x$' } } }),
    /routed tells routes apart and agent_id is in the query; remove it/,
  ],
  'a route that is not anchored': [
    nodes({ params: { node_ids: { ...nodeIds, routePattern: '[*]' } } }),
    /the route of node_ids is not anchored; write \^/,
  ],
}

t.test('legal records have no faults', async (t) => {
  t.strictSame(checkCatalogue(writes({ writeLock: 'node:{node_id}' })), [])
  t.strictSame(checkCatalogue(agents({})), [])
  t.strictSame(checkCatalogue(agents({}, { response: objectOf('x', 'os'), query: {} })), [], 'one object of an agent')
})

t.test('illegal records are refused, with the remedy', async (t) => {
  for (const [what, [records, says]] of Object.entries(illegal)) {
    const faults = checkCatalogue(records)
    t.ok(
      faults.some((fault) => says.test(fault)),
      `${what}: ${faults.join('\n') || 'no fault found'}`,
    )
    for (const fault of faults) t.match(fault, /^(?:GET|POST|PUT|DELETE) \S+: .+; .+/, 'record: fault; remedy')
  }
})

t.test('each thing that one node says is there of several, guarded alike', async (t) => {
  const one = catalogue.filter(({ method, target }) => method === 'GET' && target.kind === 'node')
  t.equal(one.length, 13)
  for (const { path, permission, secret, query } of one) {
    const record = catalogue.find(({ path: other }) => other === path.replace(':node_id', ':node_ids'))
    t.match(record, { permission, secret, target: { kind: 'severalNodes', ofNode: path }, beyondSeed: true }, path)
    t.strictSame(Object.keys(record?.query ?? {}).slice(0, 4), ['offset', 'limit', 'sort', 'search'])
    for (const name of Object.keys(query)) t.ok(record?.query[name], `${path}?${name}`)
  }
})

t.test('only what creates agents and what moves files waits for its turn', async (t) => {
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
