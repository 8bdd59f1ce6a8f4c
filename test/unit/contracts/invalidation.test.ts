import t from 'tap'
import type { Endpoint, Tag, WriteEndpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'

type Values = Readonly<Record<string, readonly string[]>>

interface Case {
  readonly write: string
  /** Values of path, `query.…`, `body.…` and `answer.…`. */
  readonly values: Values
  readonly stale: readonly string[]
  readonly fresh: readonly string[]
}

/** Stored responses, with the values of their paths. */
const stored: Readonly<Record<string, readonly [string, Values]>> = {
  '/agents': ['GET /agents', {}],
  '/agents/001': ['GET /agents/:agent_id', { agent_id: ['001'] }],
  '/agents/002': ['GET /agents/:agent_id', { agent_id: ['002'] }],
  '/agents/001/group/is_sync': ['GET /agents/:agent_id/group/is_sync', { agent_id: ['001'] }],
  '/agents/groups': ['GET /agents/groups', {}],
  '/agents/groups/web': ['GET /agents/groups/:group_id', { group_id: ['web'] }],
  '/agents/groups/web/files': ['GET /agents/groups/:group_id/files', { group_id: ['web'] }],
  '/agents/groups/db/files': ['GET /agents/groups/:group_id/files', { group_id: ['db'] }],
  '/summary/agents': ['GET /summary/agents', {}],
  '/rules': ['GET /rules', {}],
  '/decoders': ['GET /decoders', {}],
  '/lists': ['GET /lists', {}],
  '/syscheck/001': ['GET /syscheck/:agent_id', { agent_id: ['001'] }],
  '/syscheck/002': ['GET /syscheck/:agent_id', { agent_id: ['002'] }],
  '/rootcheck/001': ['GET /rootcheck/:agent_id', { agent_id: ['001'] }],
  '/syscollector/001/os': ['GET /syscollector/:agent_id/os', { agent_id: ['001'] }],
  '/experimental/os': ['GET /experimental/syscollector/os', {}],
  '/manager/info': ['GET /manager/info', {}],
  '/cluster/m/info': ['GET /cluster/:node_id/info', { node_id: ['m'] }],
  '/cluster/w/info': ['GET /cluster/:node_id/info', { node_id: ['w'] }],
  '/cluster/nodes': ['GET /cluster/nodes', {}],
  '/cluster/healthcheck': ['GET /cluster/healthcheck', {}],
  validation: ['GET /cluster/configuration/validation', {}],
}

const cases: readonly Case[] = [
  {
    write: 'PUT /agents/:agent_id/group/:group_id',
    values: { agent_id: ['001'], group_id: ['web'] },
    stale: [
      '/agents',
      '/agents/001',
      '/agents/001/group/is_sync',
      '/agents/groups',
      '/agents/groups/web',
      '/summary/agents',
    ],
    fresh: [
      '/agents/002',
      '/rules',
      '/syscheck/001',
      '/agents/groups/db/files',
      '/syscollector/001/os',
      '/manager/info',
    ],
  },
  {
    write: 'POST /agents',
    values: { 'answer.id': ['003'] },
    stale: ['/agents', '/agents/groups', '/summary/agents'],
    fresh: ['/agents/001', '/syscheck/001', '/experimental/os', '/rules'],
  },
  {
    write: 'POST /agents',
    values: { 'answer.id': ['003'], 'body.force': ['0'] },
    stale: ['/agents', '/agents/001', '/syscheck/001', '/syscollector/001/os', '/experimental/os'],
    fresh: ['/rules', '/manager/info'],
  },
  {
    write: 'DELETE /agents',
    values: { 'query.status': ['all'], 'answer.affected_agents': ['001'] },
    stale: [
      '/agents',
      '/agents/001',
      '/agents/groups/web',
      '/syscheck/001',
      '/rootcheck/001',
      '/experimental/os',
      '/cluster/healthcheck',
    ],
    fresh: ['/agents/002', '/syscheck/002', '/rules'],
  },
  {
    write: 'DELETE /agents',
    values: { 'query.status': ['all'], 'answer.affected_agents': ['*'] },
    stale: ['/agents/001', '/agents/002', '/syscheck/002'],
    fresh: ['/rules'],
  },
  {
    write: 'PUT /agents/restart',
    values: {},
    stale: ['/agents', '/agents/001', '/agents/002', '/summary/agents', '/cluster/healthcheck'],
    fresh: ['/rules', '/syscheck/001', '/manager/info', '/agents/groups'],
  },
  {
    write: 'POST /agents/groups/:group_id/configuration',
    values: { group_id: ['web'] },
    stale: ['/agents/groups', '/agents/groups/web/files', '/agents/001/group/is_sync', '/summary/agents'],
    fresh: ['/agents', '/agents/001', '/agents/groups/db/files'],
  },
  {
    write: 'PUT /syscheck/:agent_id',
    values: { agent_id: ['001'] },
    stale: ['/syscheck/001', '/rootcheck/001'],
    fresh: ['/syscheck/002', '/agents/001', '/syscollector/001/os'],
  },
  {
    write: 'POST /manager/files',
    values: { 'query.path': ['etc/rules/local_rules.xml'] },
    stale: ['/rules', 'validation'],
    fresh: ['/decoders', '/lists', '/manager/info', '/agents'],
  },
  {
    write: 'DELETE /cluster/:node_id/files',
    values: { 'query.path': ['etc/lists/ips'], node_id: ['w'] },
    stale: ['/lists', 'validation'],
    fresh: ['/rules', '/decoders', '/cluster/w/info'],
  },
  {
    write: 'POST /cluster/:node_id/files',
    values: { 'query.path': ['etc/ossec.conf'], node_id: ['w'] },
    stale: ['/cluster/w/info', '/cluster/nodes', '/rules', '/decoders', 'validation'],
    fresh: ['/lists', '/manager/info', '/cluster/m/info', '/agents'],
  },
  {
    write: 'PUT /manager/restart',
    values: {},
    stale: ['/manager/info', '/cluster/m/info', '/cluster/nodes', '/agents', '/agents/001', 'validation'],
    fresh: ['/cluster/w/info', '/rules', '/syscheck/001'],
  },
  {
    write: 'PUT /cluster/:node_id/restart',
    values: { node_id: ['m'] },
    stale: ['/manager/info', '/cluster/m/info'],
    fresh: ['/cluster/w/info', '/lists'],
  },
  {
    write: 'PUT /cluster/restart',
    values: {},
    stale: ['/manager/info', '/cluster/m/info', '/cluster/w/info', '/cluster/nodes', '/agents/002'],
    fresh: ['/rules', '/syscheck/001'],
  },
]

function recordOf(id: string): Endpoint {
  const record = catalogue.find(({ method, path }) => `${method} ${path}` === id)
  if (record === undefined) throw new Error(`no record ${id}`)
  return record
}

/** One tag for each value of its placeholder, none where the value is missing; the master of this cluster is `m`. */
function fill(tag: Tag, values: Values): readonly string[] {
  const name = /\{([^}]*)\}/.exec(tag)?.[1]
  if (name === undefined) return [tag]
  return ({ ...values, master: ['m'] }[name] ?? []).map((value) => tag.replace(`{${name}}`, value))
}

function invalidatedTags(write: WriteEndpoint, values: Values): readonly string[] {
  const tags = write.invalidates.flatMap((entry) => {
    if (typeof entry === 'string') return [entry]
    return values[entry.value]?.some((value) => new RegExp(entry.matches).test(value)) ? entry.tags : []
  })
  return tags.flatMap((tag) => fill(tag, values))
}

function tagsOf(name: string): readonly string[] {
  const [id, values] = stored[name] ?? ['', {}]
  const record = recordOf(id)
  if (!('cache' in record) || 'never' in record.cache) throw new Error(`${id} is not stored`)
  return record.cache.tags.flatMap((tag) => fill(tag, values))
}

t.test('a write invalidates the data that it changes and no other', async (t) => {
  for (const { write, values, stale, fresh } of cases) {
    await t.test(`${write} ${JSON.stringify(values)}`, async (t) => {
      const record = recordOf(write)
      if (!('invalidates' in record)) throw new Error(`${write} is no write`)
      const tags = invalidatedTags(record, values)
      for (const name of stale)
        t.ok(
          tagsOf(name).some((tag) => tags.includes(tag)),
          `${name} is invalidated`,
        )
      for (const name of fresh)
        t.notOk(
          tagsOf(name).some((tag) => tags.includes(tag)),
          `${name} stays valid`,
        )
    })
  }
})
