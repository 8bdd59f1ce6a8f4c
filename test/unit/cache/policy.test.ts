import t from 'tap'
import { compilePolicy, invalidatedTags } from '../../../src/cache/policy.ts'
import type { Endpoint, ReadEndpoint, Tag, WriteEndpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { edgeRequest, fields, recordOf } from '../../support/edge-requests.ts'

/** Values for every place that a tag of the catalogue is filled from; two sets that share none. */
interface Values {
  readonly agent: string
  readonly group: string
  readonly node: string
}
const ours: Values = { agent: '001', group: 'web', node: 'w1' }
const theirs: Values = { agent: '002', group: 'db', node: 'w2' }

function asked(endpoint: Endpoint, { agent, group, node }: Values) {
  const ids = endpoint.path === '/agents/groups' ? group : agent
  return edgeRequest('', {
    endpoint,
    params: { agent_id: agent, group_id: group, node_id: node, agent_name: 'n', node_name: node },
    query: { ids },
    ...fields({ ids: [agent], id: agent }),
  })
}

function borne(record: ReadEndpoint, values: Values): readonly Tag[] {
  const plan = compilePolicy(record)
  if (typeof plan === 'string') throw new Error(plan)
  return plan.tagsOf(asked(record, values), 'm')
}

function touched(record: WriteEndpoint, values: Values): readonly Tag[] {
  const stale = invalidatedTags(record, asked(record, values), 'm')
  return [...stale.fromRequest, ...stale.fromResponse({ id: values.agent, affected_agents: [values.agent] })]
}

const writes = catalogue.filter(
  (record): record is WriteEndpoint => record.method !== 'GET' && record.target.kind !== 'edge',
)
const reads = catalogue.filter((record): record is ReadEndpoint => typeof compilePolicy(record) !== 'string')
/** `/manager/…` of everybody is the master's. */
const named = (tag: Tag) => tag.replace('{master}', 'm')
const always = (write: WriteEndpoint) => write.invalidates.filter((entry) => typeof entry === 'string').map(named)
const family = (tag: Tag) => tag.replaceAll(/\{[^}]*\}/g, '{}')

t.test('every write against every read: stale when they speak of the same, fresh when they do not', async (t) => {
  let pairs = 0
  for (const write of writes) {
    const mine = touched(write, ours)
    for (const read of reads) {
      const name = `${write.method} ${write.path} → ${read.path}`
      const own = 'tags' in read.cache ? read.cache.tags.map(named) : []
      const same = always(write).some((tag) => own.map(family).includes(family(tag)))
      const whole = always(write).some((tag) => own.includes(tag) && !tag.includes('{'))
      if (borne(read, ours).some((tag) => mine.includes(tag)) !== same) t.fail(name)
      if (borne(read, theirs).some((tag) => mine.includes(tag)) !== whole) t.fail(`${name} of others`)
      pairs += 1
    }
  }
  t.ok(pairs > 1500, `${pairs} pairs`)
})

function of(id: string, values: Values = ours) {
  const record = recordOf(id)
  return record.method === 'GET' ? borne(record as ReadEndpoint, values) : touched(record as WriteEndpoint, values)
}

t.test('reads bear their tags, the whole of their families, and what is cleared by', async (t) => {
  t.strictSame([...of('GET /agents/:agent_id')].sort(), ['agent:*', 'agent:001', 'cache', 'cache:agents'])
  t.strictSame([...of('GET /rules')].sort(), ['cache', 'cache:rules', 'rules'])
  t.strictSame([...of('GET /manager/info')].sort(), ['cache', 'cache:manager', 'node:*', 'node:m'])
  t.ok(of('GET /agents/groups/:group_id/files').includes('group:*'))
})

t.test('the master is one node, under either of its paths', async (t) => {
  t.ok(of('PUT /manager/restart').includes('node:m'))
  t.ok(of('GET /cluster/:node_id/info', { ...ours, node: 'm' }).includes('node:m'))
})

t.test('lists of the query and of the body give one tag each', async (t) => {
  const stale = (id: string, rest: Parameters<typeof edgeRequest>[1]) =>
    invalidatedTags(recordOf(id) as WriteEndpoint, edgeRequest(id, rest), 'm')
  const removed = stale('DELETE /agents', { query: { ids: '001,003' } })
  t.ok(removed.fromRequest.includes('agent:001') && removed.fromRequest.includes('syscheck:003'))
  t.notOk(
    removed.fromRequest.some((tag) => tag.endsWith(':*')),
    'none of the others before the answer',
  )
  t.ok(removed.fromResponse({ affected_agents: ['001'] }).includes('sca:001'))
  t.ok(removed.fromResponse().includes('sca:*'), 'no answer: any of them')
  t.ok(removed.fromResponse({ affected_agents: [{ id: 1 }] }).includes('sca:*'), 'nor one that cannot be read')
  t.strictSame(removed.fromResponse({ affected_agents: [] }), [], 'none is none')
  const many = stale('DELETE /agents', { query: { ids: Array.from({ length: 1000 }, (_, id) => `${id}`).join() } })
  t.ok(many.fromRequest.includes('agent:*') && many.fromRequest.length < 20, 'very many are all')
  const restarted = stale('POST /agents/restart', fields({ ids: ['001', '002'] }))
  t.ok(restarted.fromRequest.includes('agent:001') && restarted.fromRequest.includes('agent:002'))
  t.notOk(stale('DELETE /agents', { query: { status: 'all' } }).fromRequest.some((tag) => tag.startsWith('agent:')))
  t.strictSame(
    stale('POST /agents', fields({ name: 'x' })).fromResponse({ id: '{agent_id}' }),
    ['agent:{agent_id}'],
    'braces of an answer mean nothing',
  )
})

t.test('some tags depend on a value of the request', async (t) => {
  const stale = (id: string, rest: Parameters<typeof edgeRequest>[1]) =>
    invalidatedTags(recordOf(id) as WriteEndpoint, edgeRequest(id, rest), 'm').fromRequest
  const upload = (path: string) => stale('POST /manager/files', { query: { path } })
  t.strictSame(upload('etc/rules/local_rules.xml'), ['validation', 'rules'])
  t.strictSame(upload('etc/lists/a,etc/rules/b'), ['validation', 'lists'], 'a path is one value')
  t.ok(upload('etc/ossec.conf').includes('node:m'))
  const add = (force: object) => stale('POST /agents', fields({ name: 'x', ...force }))
  t.notOk(add({}).includes('agent:*'))
  t.notOk(add({ force: -1 }).includes('agent:*'))
  t.ok(add({ force: 0 }).includes('agent:*'))
})
