import fc from 'fast-check'
import t from 'tap'
import { type CacheTarget, createTargetResolver, type TargetOptions } from '../../../src/cache/key.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import { caller, edgeRead, edgeRequest, lifetimes, recordOf } from '../../support/edge-requests.ts'

const nodeList = [{ name: 'm' }]
const key = { secret: 'secret', policy: '1' }
const options: TargetOptions = {
  key: () => key,
  nodes: () => nodeList,
  lifetimesOf: () => lifetimes,
}
const resolve = createTargetResolver(options)
const perUser = createTargetResolver({ ...options, key: () => ({ ...key, perUser: true }) })

function targetOf(request: EdgeRead, by = resolve): CacheTarget {
  const target = by(request)
  if (typeof target === 'string') throw new Error(`never stored: ${target}`)
  return target
}

const keyOf = (request: EdgeRead) => targetOf(request).key

const agents = recordOf('GET /agents')
const names = Object.keys(agents.query)
const values = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'binary' }), { noNullPrototype: true })

/** The manager's defaults. */
const defaults: Readonly<Record<string, string>> = { offset: '0', limit: '500' }

t.test('the contracts share no stored response, whatever the records have in common', async (t) => {
  const request = edgeRequest('GET /agents')
  const v4: EdgeRead = { ...request, endpoint: { ...request.endpoint, contract: 'v4' } }
  t.not(keyOf(v4), keyOf(request))
})

t.test('equal requests share a key, in every spelling', async (t) => {
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
  t.equal(keyOf(edgeRequest('GET /agents', { query: { limit: '0500' } })), key, 'leading zeros do not matter')
  t.equal(
    keyOf(edgeRequest('GET /agents', { query: { sort: '+id' } })),
    keyOf(edgeRequest('GET /agents', { query: { sort: 'id' } })),
    'an ascending sort needs no +',
  )
  t.equal(
    keyOf(edgeRequest('GET /agents', { waitForComplete: true })),
    key,
    'a request without a time limit has the same key',
  )
  t.equal(
    keyOf(edgeRequest('GET /agents', { caller: { ...caller, name: 'bob', permissions: [] } })),
    key,
    'every caller has the same key',
  )
})

t.test('different requests never share a key', async (t) => {
  const canonicalText = (query: Readonly<Record<string, string>>) => {
    const { sort, ...rest } = { ...defaults, ...query }
    const number = (text = '') => text.replace(/^0+(?=[0-9])/, '')
    const canonical = {
      ...rest,
      limit: number(rest.limit),
      offset: number(rest.offset),
      sort: sort?.replace(/^\+/, ''),
    }
    return JSON.stringify(
      Object.entries(canonical)
        .filter(([, value]) => value !== undefined)
        .sort(),
    )
  }
  fc.assert(
    fc.property(values, values, (one, other) => {
      const equal =
        keyOf(edgeRequest('GET /agents', { query: one })) === keyOf(edgeRequest('GET /agents', { query: other }))
      return equal === (canonicalText(one) === canonicalText(other))
    }),
    { numRuns: 100 },
  )
  const reads = catalogue.filter((endpoint) => endpoint.method === 'GET')
  const stored = reads.filter((endpoint) => typeof resolve(edgeRead(endpoint)) !== 'string')
  t.ok(stored.length > 50)
  t.equal(new Set(stored.map((endpoint) => keyOf(edgeRead(endpoint)))).size, stored.length, 'one key for each endpoint')
})

t.test('no value can imitate a delimiter', async (t) => {
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
    'lone surrogates differ',
  )
})

t.test('the key depends on permissions only if the response does', async (t) => {
  const of = (permissions: readonly string[], resolve = perUser) =>
    targetOf(edgeRead(agents, { caller: { ...caller, permissions } }), resolve)
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.uniqueArray(fc.string()), (one, other) => {
      const same = one.length === other.length && one.every((right) => other.includes(right))
      return (of(one).key === of(other).key) === same
    }),
    { numRuns: 100 },
  )
  t.equal(of(['a', 'b']).key, of(['b', 'a', 'b']).key, 'in any order')
  const later = createTargetResolver({ ...options, key: () => ({ secret: 'secret', policy: '2', perUser: true }) })
  t.not(of([]).key, of([], later).key, 'other policy')
  t.notMatch(of(['agents:read']).info.scope, /agents/, 'the index shows a digest')
  t.equal(targetOf(edgeRequest('GET /agents')).info.scope, 'everyone')
})

t.test('another secret gives other keys', async (t) => {
  const other = createTargetResolver({ ...options, key: () => ({ secret: 'another', policy: '1' }) })
  t.not(targetOf(edgeRequest('GET /agents'), other).key, keyOf(edgeRequest('GET /agents')))
})

t.test('the index shows the canonical URL', async (t) => {
  const shown = (request: EdgeRead) => targetOf(request).info
  t.match(shown(edgeRequest('GET /agents', { query: { status: 'active', limit: '1' } })), {
    url: '/agents?limit=1&offset=0&status=active',
    group: 'agents',
    endpoint: '/agents',
  })
  t.equal(shown(edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })).url, '/agents/001')
})

t.test('a response that is never stored has no key', async (t) => {
  t.match(resolve(edgeRequest('GET /agents/:agent_id/key', { params: { agent_id: '001' } })), 'an agent key')
  t.match(resolve(edgeRequest('GET /cluster/config')), 'cluster key')
  t.match(resolve(edgeRequest('GET /rules/files', { query: { download: 'x.xml' } })), 'file')
  t.match(resolve(edgeRead({ ...agents, secret: 'possible' })), 'secret', 'even if the record has a cache policy')
  const lifetimesOfGroup = (group: string, path: string) => ({
    ...lifetimes,
    ttl: group === 'rules' || path === '/agents' ? 0 : 1,
  })
  const some = createTargetResolver({ ...options, lifetimesOf: lifetimesOfGroup })
  t.match(some(edgeRequest('GET /rules')), 'TTL', 'a ttl of 0 for the group')
  t.match(some(edgeRequest('GET /agents')), 'TTL', 'or for the path')
  t.type(some(edgeRequest('GET /agents/groups')), 'object')
  for (const endpoint of catalogue) {
    if (endpoint.secret !== 'none' && endpoint.method === 'GET') {
      t.type(resolve(edgeRead(endpoint)), 'string', `${endpoint.method} ${endpoint.path}`)
    }
  }
})

t.test('a target is current until settings or nodes change', async (t) => {
  const info = edgeRequest('GET /manager/info')
  const [otherKey, otherNodes] = [{ secret: 'secret', policy: '2' }, [{ name: 'm' }, { name: 'w9' }]]
  const changes: readonly Partial<TargetOptions>[] = [
    { key: () => otherKey },
    { nodes: () => [{ name: 'w1' }] },
    { nodes: () => otherNodes },
  ]
  for (const change of changes) {
    let current = options
    const moving = createTargetResolver({
      key: () => current.key(),
      nodes: () => current.nodes(),
      lifetimesOf: options.lifetimesOf,
    })
    const before = targetOf(info, moving)
    t.equal(before.isCurrent(), true)
    current = { ...current, nodes: () => [{ name: 'm' }] }
    t.equal(before.isCurrent(), true, 'another list of the same nodes')
    current = { ...current, ...change }
    t.equal(before.isCurrent(), false)
    t.equal(targetOf(info, moving).isCurrent(), true)
  }
  const agents = targetOf(edgeRequest('GET /agents'))
  t.ok(agents.isCurrent())
})

t.test('requests for other data, or by other permissions, have another key', async (t) => {
  t.not(keyOf(edgeRequest('GET /rules')), keyOf(edgeRequest('GET /agents')))
  const of = (id: string) => keyOf(edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } }))
  t.not(of('001'), of('002'))
  const as = (permissions: readonly string[]) =>
    targetOf(edgeRead(agents, { caller: { ...caller, permissions } }), perUser).key
  t.not(as(['a']), as(['b']))
})
