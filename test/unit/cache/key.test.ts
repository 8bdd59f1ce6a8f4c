import fc from 'fast-check'
import t from 'tap'
import { type CacheTarget, createTargetResolver, type TargetOptions } from '../../../src/cache/key.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import { caller, edgeRequest, lifetimes, recordOf } from '../../support/edge-requests.ts'

const nodeList = [{ name: 'm' }]
const options: TargetOptions = {
  key: { secret: 'secret', policy: '1' },
  master: () => 'm',
  nodes: () => nodeList,
  lifetimesOf: () => lifetimes,
}
const prepare = createTargetResolver(options)

function prepared(given: EdgeRequest, by = prepare): CacheTarget {
  const result = by(given)
  if (typeof result === 'string') throw new Error(`not kept: ${result}`)
  return result
}

const keyOf = (given: EdgeRequest) => prepared(given).key

const agents = recordOf('GET /agents')
const names = Object.keys(agents.query)
const values = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }), { noNullPrototype: true })

/** What the manager takes when nothing is asked. */
const defaults: Readonly<Record<string, string>> = { offset: '0', limit: '500' }

t.test('equal requests share a key, however they are written', async (t) => {
  fc.assert(
    fc.property(values, fc.array(fc.nat()), (query, order) => {
      const entries = Object.entries({ ...defaults, ...query })
      const turned = entries.map((entry, at) => ({ entry, rank: order[at] ?? 0 })).sort((a, b) => a.rank - b.rank)
      const shuffled = Object.fromEntries(turned.map(({ entry }) => entry))
      return keyOf(edgeRequest('GET /agents', { query })) === keyOf(edgeRequest('GET /agents', { query: shuffled }))
    }),
    { numRuns: 100 },
  )
  const key = keyOf(edgeRequest('GET /agents'))
  t.equal(keyOf(edgeRequest('GET /agents', { query: { limit: '0500' } })), key, 'numbers are numbers')
  t.equal(
    keyOf(edgeRequest('GET /agents', { query: { sort: '+id' } })),
    keyOf(edgeRequest('GET /agents', { query: { sort: 'id' } })),
    'a sort ascends',
  )
  t.equal(keyOf(edgeRequest('GET /agents', { waitForComplete: true })), key, 'who waits longer asks for the same')
  t.equal(
    keyOf(edgeRequest('GET /agents', { caller: { ...caller, name: 'bob', permissions: [] } })),
    key,
    'whoever asks',
  )
})

t.test('different requests never share a key', async (t) => {
  const spelled = (query: Readonly<Record<string, string>>) => {
    const { sort, ...rest } = { ...defaults, ...query }
    const number = (text = '') => text.replace(/^0+(?=[0-9])/, '')
    const same = { ...rest, limit: number(rest.limit), offset: number(rest.offset), sort: sort?.replace(/^\+/, '') }
    return JSON.stringify(
      Object.entries(same)
        .filter(([, value]) => value !== undefined)
        .sort(),
    )
  }
  fc.assert(
    fc.property(values, values, (one, other) => {
      const equal =
        keyOf(edgeRequest('GET /agents', { query: one })) === keyOf(edgeRequest('GET /agents', { query: other }))
      return equal === (spelled(one) === spelled(other))
    }),
    { numRuns: 100 },
  )
  const kept = catalogue.filter((endpoint) => typeof prepare(edgeRequest('', { endpoint })) !== 'string')
  t.ok(kept.length > 50)
  t.equal(
    new Set(kept.map((endpoint) => keyOf(edgeRequest('', { endpoint })))).size,
    kept.length,
    'endpoints among each other',
  )
})

t.test('no value can pose as a delimiter', async (t) => {
  const piece = fc.stringMatching(/^[0-9:=&,a-c/]{0,6}$/)
  const pair = fc.tuple(piece, piece)
  fc.assert(
    fc.property(pair, pair, ([name, search], [name2, search2]) => {
      const one = keyOf(edgeRequest('GET /agents', { query: { name, search } }))
      const other = keyOf(edgeRequest('GET /agents', { query: { name: name2, search: search2 } }))
      return (one === other) === (name === name2 && search === search2)
    }),
    { numRuns: 100 },
  )
  const absent = keyOf(edgeRequest('GET /agents', { query: { name: '' } }))
  t.not(absent, keyOf(edgeRequest('GET /agents')), 'an empty value is a value')
  t.not(
    keyOf(edgeRequest('GET /agents', { query: { name: '\ud800' } })),
    keyOf(edgeRequest('GET /agents', { query: { name: '\ud801' } })),
    'halves of characters are told apart',
  )
})

t.test('the key knows rights only where the answer does', async (t) => {
  const cache = { group: 'agents', tags: ['collection:agents'], scope: 'rights' } as const
  const endpoint = { ...agents, cache }
  const of = (permissions: readonly string[]) =>
    prepared(edgeRequest('', { endpoint, caller: { ...caller, permissions } }))
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.uniqueArray(fc.string()), (one, other) => {
      const same = one.length === other.length && one.every((right) => other.includes(right))
      return (of(one).key === of(other).key) === same
    }),
    { numRuns: 100 },
  )
  t.equal(of(['a', 'b']).key, of(['b', 'a', 'b']).key, 'in whatever order')
  const later = createTargetResolver({ ...options, key: { secret: 'secret', policy: '2' } })
  t.not(
    of([]).key,
    prepared(edgeRequest('', { endpoint, caller: { ...caller, permissions: [] } }), later).key,
    'other policy',
  )
  t.notMatch(of(['agents:read']).info.scope, /agents/, 'what is shown is a digest')
  t.equal(prepared(edgeRequest('GET /agents')).info.scope, 'everyone')
})

t.test('nobody without the secret can tell a key', async (t) => {
  const other = createTargetResolver({ ...options, key: { secret: 'another', policy: '1' } })
  t.not(prepared(edgeRequest('GET /agents'), other).key, keyOf(edgeRequest('GET /agents')))
})

t.test('what is shown is canonical', async (t) => {
  const shown = (given: EdgeRequest) => prepared(given).info
  t.match(shown(edgeRequest('GET /agents', { query: { status: 'active', limit: '1' } })), {
    url: '/agents?limit=1&offset=0&status=active',
    group: 'agents',
    endpoint: '/agents',
  })
  t.equal(shown(edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })).url, '/agents/001')
})

t.test('what is never kept has no key', async (t) => {
  t.match(prepare(edgeRequest('GET /agents/:agent_id/key', { params: { agent_id: '001' } })), 'an agent key')
  t.match(prepare(edgeRequest('GET /cluster/config')), 'cluster key')
  t.match(prepare(edgeRequest('GET /rules/files', { query: { download: 'x.xml' } })), 'file')
  t.match(
    prepare(edgeRequest('', { endpoint: { ...agents, secret: 'possible' } })),
    'secret',
    'whatever the record says',
  )
  const durationsOf = (group: string, path: string) => ({
    ...lifetimes,
    ttl: group === 'rules' || path === '/agents' ? 0 : 1,
  })
  const some = createTargetResolver({ ...options, lifetimesOf: durationsOf })
  t.match(some(edgeRequest('GET /rules')), 'duration', 'as the settings say, by group')
  t.match(some(edgeRequest('GET /agents')), 'duration', 'or by path')
  t.type(some(edgeRequest('GET /agents/groups')), 'object')
  for (const endpoint of catalogue) {
    if (endpoint.secret !== 'none' || endpoint.method !== 'GET') {
      t.type(prepare(edgeRequest('', { endpoint })), 'string', `${endpoint.method} ${endpoint.path}`)
    }
  }
})

t.test('what is remembered of a URL never stands for another request', async (t) => {
  const query = { limit: '1' }
  const params = {}
  const first = keyOf(edgeRequest('GET /agents', { query, params }))
  t.equal(keyOf(edgeRequest('GET /agents', { query, params })), first)
  t.not(keyOf(edgeRequest('GET /rules', { query, params })), first)
  const of = (id: string) => keyOf(edgeRequest('GET /agents/:agent_id', { query, params: { agent_id: id } }))
  t.not(of('001'), of('002'))
  let master = 'm1'
  const moving = createTargetResolver({ ...options, master: () => master })
  const info = edgeRequest('GET /manager/info', { query, params })
  t.ok(prepared(info, moving).tags.includes('node:m1'))
  master = 'm2'
  t.ok(prepared(info, moving).tags.includes('node:m2'), 'another node became the master')
  const endpoint = { ...agents, cache: { group: 'agents', tags: ['collection:agents'], scope: 'rights' } } as const
  const as = (permissions: readonly string[]) =>
    keyOf(edgeRequest('', { endpoint, query, params, caller: { ...caller, permissions } }))
  t.not(as(['a']), as(['b']), 'and rights are looked at each time')
})
