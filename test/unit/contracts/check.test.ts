import t from 'tap'
import type { Endpoint, ReadEndpoint, WriteEndpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue, permissions } from '../../../src/contracts/index.ts'
import { read, write } from '../../../src/contracts/record.ts'
import { filter, list, pathParams, select } from '../../../src/contracts/schemas/params.ts'
import {
  agentOwner,
  cacheIn,
  collectionOf,
  everyNode,
  master,
  masterByTwin,
  message,
  objectOf,
  textOf,
} from '../../../src/contracts/schemas/shared.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { checkCatalogue } from './checks/index.ts'

const { agent_id: agentId, node_id: nodeId } = pathParams

/** The checks do not depend on translations. */
const translation = { call: { path: '/things' }, response: { kind: 'object' } } as const
const good: ReadEndpoint = read<string>('/things', 'All things', {
  params: {},
  query: list,
  permission: 'things:read',
  target: master,
  translation,
  response: collectionOf('Agent'),
  cache: cacheIn('agents', 'collection:things'),
})
const goodWrite: WriteEndpoint = write<string>('POST', '/things', 'Make a thing', {
  params: {},
  permission: 'things:write',
  target: master,
  translation,
  response: message,
  invalidates: ['collection:things'],
})

const changed = (change: Partial<ReadEndpoint>): readonly Endpoint[] => [{ ...good, ...change }]
const changedWrite = (change: Partial<WriteEndpoint>): readonly Endpoint[] => [good, { ...goodWrite, ...change }]
const never = { cache: { never: 'not relevant here' } } as const
const ids = { type: 'strings', role: 'ids' } as const
const fields = (names: Record<string, typeof ids>) =>
  ({ kind: 'fields', types: ['application/json'], fields: names }) as const

/** One illegal catalogue each, and the fault that must be reported. */
const illegal: Readonly<Record<string, readonly [readonly Endpoint[], RegExp]>> = {
  'a path without its slash': [changed({ path: 'things' }), /does not begin with a slash; write \/things/],
  'a path that ends with a slash': [changed({ path: '/things/' }), /ends with a slash; remove it/],
  'an empty segment': [changed({ path: '/a//b' }), /empty segment; remove/],
  'a duplicate route': [[good, { ...good, path: '/THINGS' }], /the route is the same as GET \/things; remove/],
  'a route with two names for its parameter': [
    [
      { ...good, path: '/a/:x', params: { x: nodeId } },
      { ...good, path: '/a/:y', params: { y: nodeId } },
    ],
    /the route is the same as GET \/a\/:x/,
  ],
  'a name that is used twice': [
    changed({ path: '/a/:sort', params: { sort: nodeId } }),
    /the name sort is used twice; rename/,
  ],
  'a path parameter without description': [changed({ path: '/a/:b' }), /:b is not described; add/],
  'a description without path parameter': [changed({ params: { b: nodeId } }), /no :b in the path; remove/],
  'a flag of every request': [changed({ query: { pretty: select } }), /pretty is a flag/],
  'a query out of order': [changed({ query: { select, ...list } }), /out of order; write offset/],
  'oneOf without its parameter': [changed({ oneOf: ['ids'] }), /oneOf names ids/],
  'raw without its parameter': [
    changed({ response: { ...collectionOf('Agent'), raw: { when: 'download', type: 'text/xml' } } }),
    /raw\.when is not a parameter/,
  ],
  'a folder pattern that is not anchored': [
    changed({ query: { path: { ...filter('paths', 'x'), within: { pattern: 'etc/.*$', code: 704 } } } }),
    /within of path is not anchored; write \^/,
  ],
  'a required parameter that does not exist': [
    changed({ query: { field: { ...filter('names', 'x'), requires: 'section' } } }),
    /field requires section, which is not in query/,
  ],
  'a page limit on a text': [
    changed({ query: { limit: { ...filter('names', 'x'), pageLimit: {} } } }),
    /page limit but is not a number/,
  ],
  'prefixes of a text': [
    changed({ query: { file: { ...filter('names', 'x'), startsWith: 'packageFolders' } } }),
    /prefixes but is not a path/,
  ],
  'a default of a required parameter': [
    changed({ query: { ids: { ...filter('names', 'x'), required: 604, default: 'a' } } }),
    /required; remove its default/,
  ],
  'a default that its kind rejects': [
    changed({ query: { ids: { ...filter('numbers', 'x'), default: 'a' } } }),
    /default of ids is not a valid value/,
  ],
  'a default that is not among the allowed': [
    changed({ query: { type: { ...filter('names', 'x'), default: 'a', allowed: ['b'] } } }),
    /default of type is not a valid value/,
  ],
  'an agent id with two spellings': [
    changed({ path: '/a/:agent_id', params: { agent_id: filter('numbers', 'x') } }),
    /several spellings; set canonical/,
  ],
  'a DELETE with a body': [changedWrite({ method: 'DELETE', body: fields({ ids }) }), /a DELETE has no body/],
  'a body without types': [
    changedWrite({ body: { kind: 'upload', types: [], wrongType: 607 } }),
    /the body has no types; list/,
  ],
  'an upload without a parameter for its type': [
    changedWrite({
      body: { kind: 'upload', types: ['application/xml'], wrongType: 607, xmlWhen: { query: 'x', matches: '^' } },
    }),
    /xmlWhen is not a parameter of query; name/,
  ],
  'a body without fields': [changedWrite({ body: fields({}) }), /the body has no fields/],
  'a permission of the wrong form': [changed({ permission: 'Things: Read' }), /does not have the form agents:read/],
  'a write for every signed-in user': [changedWrite({ permission: 'signedIn' }), /every signed-in user may write/],
  'an owner without an agent': [changed({ target: agentOwner }), /add :agent_id/],
  'owners without a group': [changedWrite({ target: { kind: 'agentOwners', ids: 'group' } }), /add :group_id/],
  'owners without ids': [changedWrite({ target: { kind: 'agentOwners', ids: 'body' } }), /add the field ids/],
  'a target node that the path does not name': [
    changed({ target: { kind: 'node', twin: '/manager/x', throughOthers: true } }),
    /add :node_id/,
  ],
  'a twin that has no record': [
    changed({
      path: '/cluster/:node_id/x',
      params: { node_id: nodeId },
      target: { kind: 'node', twin: '/manager/x', throughOthers: true },
    }),
    /its twin \/manager\/x has no record; add it/,
  ],
  'a twin that no record names': [changed({ target: masterByTwin }), /no record names it as its twin/],
  'a text from several nodes': [
    changed({ target: everyNode, response: textOf('Message') }),
    /the shape text cannot be joined/,
  ],
  'a verdict that may be old': [
    changed({ target: everyNode, response: objectOf('Agent') }),
    /clients act on a verdict, so an old one is wrong; set cache to neverStale/,
  ],
  'a stored secret': [changed({ secret: 'possible' }), /may contain a secret but is stored; set cache to \{never/],
  'a stored response of the edge itself': [
    changed({ target: { kind: 'edge', operation: 'cacheIndex' } }),
    /the edge answers it itself; set cache/,
  ],
  'a stored response without tags': [changed({ cache: cacheIn('agents') }), /stored without a tag/],
  'a read tagged by its own response': [
    changed({ cache: cacheIn('agents', 'agent:{answer.id}') }),
    /agent:\{answer\.id\} has an unknown placeholder/,
  ],
  'a read with an unknown placeholder': [
    changed({ cache: cacheIn('agents', 'agent:{agent_id}') }),
    /has an unknown placeholder; use/,
  ],
  'a tag of one without the tag of all': [
    [
      { ...good, path: '/a/:agent_id', params: { agent_id: agentId }, cache: cacheIn('agents', 'agent:{agent_id}') },
      { ...goodWrite, invalidates: ['agent:*'] },
    ],
    /writes invalidate agent:\*; add that tag beside agent:\{agent_id\}/,
  ],
  'a write without tags and without a reason': [
    changedWrite({ invalidates: [] }),
    /invalidates nothing; add tags, or give the reason in invalidatesNothingBecause/,
  ],
  'a write with tags and with a reason for none': [
    changedWrite({ invalidatesNothingBecause: 'no reason' }),
    /has tags and invalidatesNothingBecause; remove/,
  ],
  'a write with an unknown placeholder': [
    changedWrite({ invalidates: ['collection:things', 'agent:{query.ids}'] }),
    /agent:\{query\.ids\} has an unknown placeholder/,
  ],
  'a write with a tag that no read has': [
    changedWrite({ invalidates: ['colection:things'] }),
    /no stored read has the tag colection:things; correct/,
  ],
  'a condition on an unknown value': [
    changedWrite({ invalidates: [{ value: 'query.path', matches: '^etc/', tags: ['collection:things'] }] }),
    /query\.path does not exist/,
  ],
  'a condition that is not anchored': [
    changedWrite({
      query: { path: filter('paths', 'x') },
      invalidates: [{ value: 'query.path', matches: 'etc/', tags: ['collection:things'] }],
    }),
    /the pattern etc\/ is not anchored; begin it with \^/,
  ],
}

t.test('the catalogue has no faults', async (t) => {
  t.strictSame(checkCatalogue(catalogue), [], 'records in src/contracts, as test/unit/contracts/checks allows')
})

t.test('correct records have no faults', async (t) => {
  t.strictSame(checkCatalogue([good, goodWrite]), [])
  t.strictSame(checkCatalogue(changed(never)), [])
})

t.test('incorrect records are rejected, with the remedy', async (t) => {
  for (const [what, [records, message]] of Object.entries(illegal)) {
    await t.test(what, async (t) => {
      const faults = checkCatalogue(records)
      t.ok(
        faults.some((fault) => message.test(fault)),
        `${faults.join('\n') || 'no fault found'}`,
      )
      for (const fault of faults) t.match(fault, /^(?:GET|POST|PUT|DELETE) \S+: .+; .+/, 'record: fault; remedy')
    })
  }
})

t.test('records are frozen deeply', async (t) => {
  const frozen = (value: object): boolean =>
    Object.isFrozen(value) &&
    Object.values(value).every((part) => typeof part !== 'object' || part === null || frozen(part))
  t.ok(Object.isFrozen(catalogue))
  for (const record of catalogue) t.ok(frozen(record), record.path)
})

t.test('the permissions are those of the records of both contracts and four more', async (t) => {
  t.ok(permissions.includes('secrets:read') && permissions.includes('operations:read'))
  t.ok(permissions.includes('nodes:drain'))
  t.notOk(permissions.includes('signedIn'))
  t.strictSame([...permissions], [...new Set(permissions)].sort())
  for (const { permission } of [...catalogue, ...v4Contract])
    t.ok(permission === 'signedIn' || permissions.includes(permission), permission)
})
