import t from 'tap'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { invalidatedTags } from '../../../src/cache/tags.ts'
import type { Endpoint, Tag, V3Read, V3Write, WriteMethod } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import type { EdgeWrite } from '../../../src/core/request.ts'
import { edgeRead, edgeRequest, edgeWrite, fields, recordOf } from '../../support/edge-requests.ts'

/** Values for every placeholder of the tags in the catalogue. */
interface Values {
  readonly agent: string
  readonly group: string
  readonly node: string
}
const ours: Values = { agent: '001', group: 'web', node: 'w1' }
type WriteId = `${WriteMethod} ${string}`
const theirs: Values = { agent: '002', group: 'db', node: 'w2' }

function valuesFor({ path }: Endpoint, { agent, group, node }: Values) {
  const ids = path === '/agents/groups' ? group : agent
  return {
    params: { agent_id: agent, group_id: group, node_id: node, agent_name: 'n', node_name: node },
    query: { ids },
  }
}

function tagsOf(record: V3Read, values: Values): readonly Tag[] {
  const policy = compilePolicy(record)
  if (typeof policy === 'string') throw new Error(policy)
  return policy.tagsOf(edgeRead(record, valuesFor(record, values)), 'm')
}

function invalidatedBy(record: V3Write, values: Values): readonly Tag[] {
  const { agent } = values
  const body = fields({ ids: [agent], id: agent })
  const stale = invalidatedTags(record, edgeWrite(record, { ...valuesFor(record, values), ...body }), 'm')
  return [...stale.fromRequest, ...stale.fromResponse({ id: agent, affected_agents: [agent] })]
}

const writes = catalogue.filter((record): record is V3Write => record.method !== 'GET' && record.target.kind !== 'edge')
const reads = catalogue.filter((record): record is V3Read => typeof compilePolicy(record) !== 'string')
/** `/manager/…` is data of the master. */
const named = (tag: Tag) => tag.replace('{master}', 'm')
const always = (write: V3Write) => write.invalidates.filter((entry) => typeof entry === 'string').map(named)
const family = (tag: Tag) => tag.replaceAll(/\{[^}]*\}/g, '{}')

t.test('every write invalidates every read of the same data, and no other read', async (t) => {
  let pairs = 0
  for (const write of writes) {
    const mine = invalidatedBy(write, ours)
    for (const read of reads) {
      const name = `${write.method} ${write.path} → ${read.path}`
      const own = 'tags' in read.cache ? read.cache.tags.map(named) : []
      const same = always(write).some((tag) => own.map(family).includes(family(tag)))
      const whole = always(write).some((tag) => own.includes(tag) && !tag.includes('{'))
      if (tagsOf(read, ours).some((tag) => mine.includes(tag)) !== same) t.fail(name)
      if (tagsOf(read, theirs).some((tag) => mine.includes(tag)) !== whole) t.fail(`${name} of others`)
      pairs += 1
    }
  }
  t.ok(pairs > 1500, `${pairs} pairs`)
})

function of(id: string, values: Values = ours) {
  const record = recordOf(id)
  return record.method === 'GET' ? tagsOf(record as V3Read, values) : invalidatedBy(record as V3Write, values)
}

t.test('a read carries its tags, the wildcards of their families and the tags of purges', async (t) => {
  t.strictSame([...of('GET /agents/:agent_id')].sort(), [
    'agent:*',
    'agent:001',
    'cache',
    'cache:/agents/:agent_id',
    'cache:agents',
  ])
  t.strictSame([...of('GET /rules')].sort(), ['cache', 'cache:/rules', 'cache:rules', 'rules'])
  t.strictSame([...of('GET /manager/info')].sort(), [
    'cache',
    'cache:/manager/info',
    'cache:manager',
    'node:*',
    'node:m',
  ])
  t.ok(of('GET /agents/groups/:group_id/files').includes('group:*'))
})

t.test('the master has one tag under both of its paths', async (t) => {
  t.ok(of('PUT /manager/restart').includes('node:m'))
  t.ok(of('GET /cluster/:node_id/info', { ...ours, node: 'm' }).includes('node:m'))
})

t.test('each value of a list in query or body gives one tag', async (t) => {
  const stale = (id: WriteId, rest: Partial<EdgeWrite>) => invalidatedTags(recordOf(id), edgeRequest(id, rest), 'm')
  const removed = stale('DELETE /agents', { query: { ids: '001,003' } })
  t.ok(removed.fromRequest.includes('agent:001') && removed.fromRequest.includes('syscheck:003'))
  t.notOk(
    removed.fromRequest.some((tag) => tag.endsWith(':*')),
    'no wildcard before the response',
  )
  t.ok(removed.fromResponse({ affected_agents: ['001'] }).includes('sca:001'))
  t.ok(removed.fromResponse().includes('sca:*'), 'no response: the wildcard')
  t.ok(removed.fromResponse({ affected_agents: [{ id: 1 }] }).includes('sca:*'), 'unreadable names: the wildcard')
  t.strictSame(removed.fromResponse({ affected_agents: [] }), [], 'an empty list gives no tag')
  const many = stale('DELETE /agents', { query: { ids: Array.from({ length: 1000 }, (_, id) => `${id}`).join() } })
  t.ok(many.fromRequest.includes('agent:*') && many.fromRequest.length < 20, 'many values become the wildcard')
  const restarted = stale('POST /agents/restart', fields({ ids: ['001', '002'] }))
  t.ok(restarted.fromRequest.includes('agent:001') && restarted.fromRequest.includes('agent:002'))
  t.notOk(stale('DELETE /agents', { query: { status: 'all' } }).fromRequest.some((tag) => tag.startsWith('agent:')))
  t.strictSame(
    stale('POST /agents', fields({ name: 'x' })).fromResponse({ id: '{agent_id}' }),
    ['agent:{agent_id}'],
    'braces in a value have no meaning',
  )
})

t.test('some tags are invalidated only for certain values of the request', async (t) => {
  const stale = (id: WriteId, rest: Partial<EdgeWrite>) =>
    invalidatedTags(recordOf(id), edgeRequest(id, rest), 'm').fromRequest
  const upload = (path: string) => stale('POST /manager/files', { query: { path } })
  t.strictSame(upload('etc/rules/local_rules.xml'), ['validation', 'rules'])
  t.strictSame(upload('etc/lists/a,etc/rules/b'), ['validation', 'lists'], 'commas do not separate paths')
  t.ok(upload('etc/ossec.conf').includes('node:m'))
  const add = (force: object) => stale('POST /agents', fields({ name: 'x', ...force }))
  t.notOk(add({}).includes('agent:*'))
  t.notOk(add({ force: -1 }).includes('agent:*'))
  t.ok(add({ force: 0 }).includes('agent:*'))
})
