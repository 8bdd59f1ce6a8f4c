import t from 'tap'
import { checkCatalogue } from '../../../src/catalogue/checks/index.ts'
import type { Endpoint, ReadEndpoint, WriteEndpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue, permissions } from '../../../src/catalogue/index.ts'
import { read, write } from '../../../src/catalogue/record.ts'
import { agentId, filter, list, nodeId, select } from '../../../src/catalogue/schemas/params.ts'
import { collectionOf, message, objectOf, textOf } from '../../../src/catalogue/schemas/responses.ts'
import { agentOwner, everyNode, keepIn, master, masterByTwin } from '../../../src/catalogue/schemas/targets.ts'

const good: ReadEndpoint = read<string>({
  path: '/things',
  summary: 'All things',
  section: 'Things',
  params: {},
  query: list,
  permission: 'things:read',
  target: master,
  response: collectionOf('thing'),
  cache: keepIn('agents', 'collection:things'),
})
const goodWrite: WriteEndpoint = write<string>('POST', {
  path: '/things',
  summary: 'Make a thing',
  section: 'Things',
  params: {},
  permission: 'things:write',
  target: master,
  response: message,
  invalidates: ['collection:things'],
})

const changed = (change: Partial<ReadEndpoint>): readonly Endpoint[] => [{ ...good, ...change }]
const changedWrite = (change: Partial<WriteEndpoint>): readonly Endpoint[] => [good, { ...goodWrite, ...change }]
const never = { cache: { never: 'not the matter here' } } as const
const ids = { type: 'strings', role: 'ids' } as const
const fields = (names: Record<string, typeof ids>) =>
  ({ kind: 'fields', types: ['application/json'], fields: names }) as const

/** One illegal catalogue each, and what must be said of it. */
const illegal: Readonly<Record<string, readonly [readonly Endpoint[], RegExp]>> = {
  'a path without its slash': [changed({ path: 'things' }), /does not begin with a slash; write \/things/],
  'a path that ends with a slash': [changed({ path: '/things/' }), /ends with a slash; leave it out/],
  'an empty segment': [changed({ path: '/a//b' }), /empty segment; remove/],
  'an experimental path that does not say so': [changed({ path: '/experimental/x' }), /set experimental/],
  'one route twice': [[good, { ...good, path: '/THINGS' }], /the route is GET \/things already; remove/],
  'one route with two names for its parameter': [
    [
      { ...good, path: '/a/:x', params: { x: nodeId } },
      { ...good, path: '/a/:y', params: { y: nodeId } },
    ],
    /the route is GET \/a\/:x already/,
  ],
  'a name that is given twice': [
    changed({ path: '/a/:sort', params: { sort: nodeId } }),
    /the name sort is given twice; call/,
  ],
  'a name in the path that nothing describes': [changed({ path: '/a/:b' }), /:b is not described; add/],
  'a description of nothing': [changed({ params: { b: nodeId } }), /no :b in the path; remove/],
  'a flag of every request': [changed({ query: { pretty: select } }), /pretty is a flag/],
  'a query out of order': [changed({ query: { select, ...list } }), /out of order; write offset/],
  'oneOf without its parameter': [changed({ oneOf: ['ids'] }), /oneOf names ids/],
  'raw without its parameter': [
    changed({ response: { ...collectionOf('x'), raw: { when: 'download', type: 'text/xml' } } }),
    /raw\.when names nothing/,
  ],
  'a folder pattern that is not anchored': [
    changed({ query: { path: { ...filter('paths', 'x'), within: { pattern: 'etc/.*$', code: 704 } } } }),
    /within of path is not anchored; write \^/,
  ],
  'a companion that is not there': [
    changed({ query: { field: { ...filter('names', 'x'), requires: 'section' } } }),
    /field needs section, which query lacks/,
  ],
  'a page limit on a text': [
    changed({ query: { limit: { ...filter('names', 'x'), pageLimit: {} } } }),
    /page limit and is no number/,
  ],
  'prefixes of a text': [
    changed({ query: { file: { ...filter('names', 'x'), startsWith: 'packageFolders' } } }),
    /prefixes and is no path/,
  ],
  'a default of what is mandatory': [
    changed({ query: { ids: { ...filter('names', 'x'), required: 604, default: 'a' } } }),
    /mandatory; remove its default/,
  ],
  'a default that its kind refuses': [
    changed({ query: { ids: { ...filter('numbers', 'x'), default: 'a' } } }),
    /default of ids is not one of its own values/,
  ],
  'a default that is not among the allowed': [
    changed({ query: { type: { ...filter('names', 'x'), default: 'a', allowed: ['b'] } } }),
    /default of type is not one of its own values/,
  ],
  'an agent id with two spellings': [
    changed({ path: '/a/:agent_id', params: { agent_id: filter('numbers', 'x') } }),
    /more than one spelling; set canonical/,
  ],
  'a DELETE with a body': [changedWrite({ method: 'DELETE', body: fields({ ids }) }), /a DELETE has no body/],
  'a body without types': [
    changedWrite({ body: { kind: 'upload', types: [], wrongType: 607 } }),
    /the body has no types; name/,
  ],
  'an upload told apart by nothing': [
    changedWrite({
      body: { kind: 'upload', types: ['application/xml'], wrongType: 607, xmlWhen: { query: 'x', matches: '^' } },
    }),
    /xmlWhen looks at nothing; name/,
  ],
  'a body without fields': [changedWrite({ body: fields({}) }), /the body has no fields/],
  'a permission that is no word': [changed({ permission: 'Things: Read' }), /is no word like agents:read/],
  'a write for whoever is signed in': [changedWrite({ permission: 'signedIn' }), /whoever is signed in may write/],
  'the owner of no agent': [changed({ target: agentOwner }), /put :agent_id into the path/],
  'the owners of no group': [
    changedWrite({ target: { kind: 'agentOwners', merge: 'message', ids: 'group' } }),
    /put :group_id into the path/,
  ],
  'the owners of no ids': [
    changedWrite({ target: { kind: 'agentOwners', merge: 'message', ids: 'body' } }),
    /give the body a field ids/,
  ],
  'a node that is not named': [changed({ target: { kind: 'node', twin: '/manager/x' } }), /put :node_id into the path/],
  'a twin that has no record': [
    changed({
      path: '/cluster/:node_id/x',
      params: { node_id: nodeId },
      target: { kind: 'node', twin: '/manager/x' },
    }),
    /its twin \/manager\/x has no record; describe it/,
  ],
  'a record that is nobody’s twin': [changed({ target: masterByTwin }), /no record has it as its twin/],
  'a collection joined by another rule': [
    changed({ target: everyNode('verdict', 'fail') }),
    /verdict does not join the shape collection; set merge to collection/,
  ],
  'a text from several nodes': [
    changed({ target: everyNode('message', 'fail'), response: textOf('x') }),
    /the shape text cannot be joined/,
  ],
  'a sentence with failed nodes': [
    changedWrite({ target: everyNode('message', 'label') }),
    /no room for failed_nodes; set whenPartial to fail/,
  ],
  'a verdict over some nodes': [
    changed({ target: everyNode('verdict', 'label'), response: objectOf('x') }),
    /would be taken for all; set whenPartial to fail/,
  ],
  'a secret that is kept': [changed({ secret: 'possible' }), /may hold a secret and is kept; set keep to \{never/],
  'an answer of the edge that is kept': [
    changed({ target: { kind: 'edge', operation: 'cacheIndex' } }),
    /the edge answers it itself; set keep/,
  ],
  'what is kept under no tag': [changed({ cache: keepIn('agents') }), /kept under no tag/],
  'a read tagged by its own answer': [
    changed({ cache: keepIn('agents', 'agent:{answer.id}') }),
    /agent:\{answer\.id\} is filled from nothing/,
  ],
  'a read tagged by nothing': [
    changed({ cache: keepIn('agents', 'agent:{agent_id}') }),
    /is filled from nothing; name/,
  ],
  'one of many without all of them': [
    [
      { ...good, path: '/a/:agent_id', params: { agent_id: agentId }, cache: keepIn('agents', 'agent:{agent_id}') },
      { ...goodWrite, invalidates: ['agent:*'] },
    ],
    /writes touch agent:\*; name that tag beside agent:\{agent_id\}/,
  ],
  'a write that makes nothing stale and does not say why': [
    changedWrite({ invalidates: [] }),
    /makes nothing stale; name tags, or say why in staleNothing/,
  ],
  'a write that says it makes nothing stale and does': [
    changedWrite({ invalidatesNothingBecause: 'no reason' }),
    /remove staleNothing/,
  ],
  'a write tagged by nothing': [
    changedWrite({ invalidates: ['collection:things', 'agent:{query.ids}'] }),
    /agent:\{query\.ids\} is filled from nothing/,
  ],
  'a write to what nobody reads': [
    changedWrite({ invalidates: ['colection:things'] }),
    /no read that is kept bears colection:things; mend/,
  ],
  'a condition on nothing': [
    changedWrite({ invalidates: [{ value: 'query.path', matches: '^etc/', tags: ['collection:things'] }] }),
    /query\.path names nothing/,
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
  t.strictSame(checkCatalogue(catalogue), [])
})

t.test('legal records have no faults', async (t) => {
  t.strictSame(checkCatalogue([good, goodWrite]), [])
  t.strictSame(checkCatalogue(changed(never)), [])
})

t.test('illegal records are refused, with the remedy', async (t) => {
  for (const [what, [records, says]] of Object.entries(illegal)) {
    await t.test(what, async (t) => {
      const faults = checkCatalogue(records)
      t.ok(
        faults.some((fault) => says.test(fault)),
        `${faults.join('\n') || 'no fault found'}`,
      )
      for (const fault of faults) t.match(fault, /^(?:GET|POST|PUT|DELETE) \S+: .+; .+/, 'record: fault; remedy')
    })
  }
})

t.test('records are frozen to their leaves', async (t) => {
  const frozen = (value: object): boolean =>
    Object.isFrozen(value) && Object.values(value).every((part) => typeof part !== 'object' || frozen(part))
  t.ok(Object.isFrozen(catalogue))
  for (const record of catalogue) t.ok(frozen(record), record.path)
})

t.test('permissions are the words of the records and the two beside them', async (t) => {
  t.ok(permissions.includes('secrets:read') && permissions.includes('operations:read'))
  t.notOk(permissions.includes('signedIn'))
  t.strictSame([...permissions], [...new Set(permissions)].sort())
  for (const { permission } of catalogue)
    t.ok(permission === 'signedIn' || permissions.includes(permission), permission)
})
