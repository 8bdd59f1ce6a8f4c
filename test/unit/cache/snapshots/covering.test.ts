/**
 * In an outage, each read of both contracts that may be stored is answered: with its stored response, and a page of a collection
 * from any stored response that has all of its rows, although no snapshot was built; and from no other.
 */
import t from 'tap'
import { compilePolicy } from '../../../../src/cache/policy.ts'
import type { SharedParts } from '../../../../src/cache/stores/contract.ts'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import type { Endpoint } from '../../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'
import { EdgeError } from '../../../../src/core/errors.ts'
import type { Caller, EdgeRead } from '../../../../src/core/request.ts'
import type { EdgeResponse } from '../../../../src/core/response.ts'
import {
  bodyOf,
  cacheStatusOf,
  edgeRequest,
  jsonResponse,
  lifetimes,
  ManualClock,
  replica,
} from '../../../support/edge-requests.ts'

const HOUR = 3_600_000
const lifetimesOf = () => ({ ...lifetimes, outage: 8 * HOUR })
const OF_AGENTS = 'a row belongs to several agents, and the total counts these'
/** The reads that may be stored, of which no page is computed, and why. */
const OPEN: Readonly<Record<string, string>> = {
  'v3 /agents/outdated':
    'the manager leaves agents out of a page of all agents, so a row does not show which page it is on',
  'v3 /agents/stats/distinct': OF_AGENTS,
  'v4 /agents/stats/distinct': OF_AGENTS,
}
/** Offset and limit count the rows of each agent. */
const OF_EACH_AGENT = /^v4 \/experimental\//
/** Clients act at once on what a validation finds. */
const NEVER_STALE = /^v[34] .*\/configuration\/validation$/
const isNeverStale = (endpoint: Endpoint) => NEVER_STALE.test(nameOf(endpoint))
/** Their pages are joined from the stored parts of nodes. */
const ofNodes = ({ target }: Endpoint) => target.kind === 'severalNodes'

type Query = Readonly<Record<string, string>>

const reads = [...catalogue, ...v4Contract].filter(({ method, target }) => method === 'GET' && target.kind !== 'edge')
const stored = reads.filter((endpoint) => typeof compilePolicy(endpoint) !== 'string')
const isPaged = ({ query }: Endpoint) => ['offset', 'limit'].every((name) => Object.hasOwn(query, name))
const collections = stored.filter((endpoint) => isPaged(endpoint) && !ofNodes(endpoint))
const nameOf = ({ contract, path }: Endpoint) => `${contract} ${path}`

function requestOf(endpoint: Endpoint, query: Query, caller?: EdgeRead['caller']): EdgeRead {
  const params = Object.fromEntries(Object.keys(endpoint.params).map((name) => [name, '001']))
  const mandatory = endpoint.allFieldsWithout === undefined ? {} : { [endpoint.allFieldsWithout]: 'name' }
  const request = edgeRequest('GET /agents', { query: { ...mandatory, ...query } })
  return { ...request, endpoint: endpoint as EdgeRead['endpoint'], params, ...(caller && { caller }) }
}

const IDS = [1, 2, 3, 4, 5]
const ROWS = IDS.map((id) => ({ id: `00${id}`, name: `name ${id}`, path: `path ${id}` }))
const TEXTS = IDS.map((id) => `text ${id}`)

function kindOf(endpoint: Endpoint): string | undefined {
  const policy = compilePolicy(endpoint)
  return typeof policy === 'string' ? undefined : policy.rows
}

/** The response of a node; texts where the rows of the collection are texts. */
function pageOf(endpoint: Endpoint, { offset = '0', limit = '500' }: Query, wrongTotal?: number): EdgeResponse {
  const kind = `${kindOf(endpoint)}`
  const all: readonly unknown[] = ['catalogue', 'requirements'].includes(kind) ? TEXTS : ROWS
  const items = all.slice(Number(offset), Number(offset) + Number(limit))
  const total = wrongTotal ?? ROWS.length
  if (endpoint.contract === 'v3') return jsonResponse({ error: 0, data: { items, totalItems: total } })
  const counts = { affected_items: items, total_affected_items: total, total_failed_items: 0, failed_items: [] }
  return jsonResponse({ data: counts, message: 'all', error: 0 })
}

const fail = () => {
  throw new EdgeError(924)
}

/** Returns the page that a client gets; `undefined`: no node answers, and nothing is stored. */
async function pageOrNone(read: ReturnType<typeof replica>['read'], request: EdgeRead) {
  try {
    const response = await read(request)
    const { items, affected_items: affected = items } = Object(bodyOf(response).data)
    return { rows: affected, detail: cacheStatusOf(response)?.detail }
  } catch (fault) {
    if (fault instanceof EdgeError && fault.code === 924) return undefined
    throw fault
  }
}

/** Returns the page that a client gets in an outage after it got responses to these queries. */
async function pageInOutage(endpoint: Endpoint, stored: readonly Query[], page: Query, total?: number) {
  const { read, nodes, clock } = replica({ lifetimesOf })
  nodes.respond = ({ query }) => pageOf(endpoint, query, total)
  for (const query of stored) await read(requestOf(endpoint, query))
  nodes.respond = fail
  clock.advance(HOUR)
  return pageOrNone(read, requestOf(endpoint, page))
}

const rowsOf = (endpoint: Endpoint, page: Query) => {
  const { items, affected_items: affected = items } = Object(bodyOf(pageOf(endpoint, page)).data)
  return affected
}

const PAGE = { offset: '1', limit: '2' }
const endpointOf = (name: string) => collections.find((each) => nameOf(each) === name) as Endpoint

t.test('each read that a client has requested', async (t) => {
  t.ok(stored.length > 190, `${stored.length} reads`)
  for (const endpoint of stored) {
    const found = await pageInOutage(endpoint, [{}], {})
    const expected = isNeverStale(endpoint) ? undefined : { rows: rowsOf(endpoint, {}), detail: 'outage' }
    t.strictSame(found, expected, nameOf(endpoint))
  }
  for (const endpoint of reads.filter((read) => !stored.includes(read))) {
    t.match(compilePolicy(endpoint), /\w{2} /, `${nameOf(endpoint)} states why it is not stored`)
    t.equal(await pageInOutage(endpoint, [{}], {}), undefined, nameOf(endpoint))
  }
})

t.test('a page that no client has requested', async (t) => {
  t.ok(collections.length > 100, `${collections.length} collections`)
  for (const endpoint of collections) {
    const found = await pageInOutage(endpoint, [{ limit: '50' }], PAGE)
    const isOpen = Object.hasOwn(OPEN, nameOf(endpoint)) || OF_EACH_AGENT.test(nameOf(endpoint))
    const expected = isOpen ? undefined : { rows: rowsOf(endpoint, PAGE), detail: 'outage' }
    t.strictSame(found, expected, nameOf(endpoint))
  }
})

t.test('a page of rows that only nodes can select', async (t) => {
  const name = 'v4 /agents/outdated'
  const endpoint = endpointOf(name)
  const search = { search: 'name' }
  const found = await pageInOutage(endpoint, [{ ...search, limit: '50' }], { ...search, ...PAGE })
  t.strictSame(found, { rows: rowsOf(endpoint, PAGE), detail: 'outage' }, name)
  t.equal(await pageInOutage(endpoint, [{ ...search, limit: '50' }], PAGE), undefined, `${name}: of other rows`)
  t.equal(await pageInOutage(endpoint, [{ limit: '50' }], { ...search, ...PAGE }), undefined, `${name}: of all rows`)
})

t.test('from a response that lacks rows, or shows only some fields, nothing is computed', async (t) => {
  for (const endpoint of collections) {
    for (const [name, query, total] of [
      ['more rows than one page', { limit: '3' }, undefined],
      ['behind the first row', { limit: '50', offset: '1' }, undefined],
      ['another total', { limit: '50' }, 9],
      ['another total than rows, within the limit', { limit: '50' }, 4],
      ...('select' in endpoint.query ? [['selected fields', { limit: '50', select: 'id' }, undefined] as const] : []),
    ] as const) {
      t.equal(await pageInOutage(endpoint, [query], PAGE, total), undefined, `${nameOf(endpoint)}: ${name}`)
    }
  }
})

t.test('filters, sorts and searches, also from a response in another order', async (t) => {
  const agents = endpointOf('v3 /agents')
  const ids = async (endpoint: Endpoint, stored: Query, page: Query) => {
    const found = await pageInOutage(endpoint, [stored], page)
    return found && (found.rows as { readonly id: string }[]).map(({ id }) => id)
  }
  t.strictSame(await ids(agents, {}, { sort: '-id', limit: '2' }), ['005', '004'])
  t.strictSame(await ids(agents, {}, { q: 'id>3' }), ['004', '005'])
  t.strictSame(await ids(endpointOf('v3 /sca/:agent_id/checks/:policy_id'), {}, { q: 'id>3' }), ['004', '005'])
  t.strictSame(await ids(agents, { sort: '-name', limit: '400' }, { limit: '2' }), ['001', '002'], 'the default sort')
  const lists = endpointOf('v3 /lists')
  t.strictSame(await ids(lists, {}, { sort: '-path', limit: '2' }), ['005', '004'])
  t.strictSame(await ids(lists, {}, { path: 'path 2' }), ['002'])
  t.equal(await ids(lists, {}, { path: 'path 6' }), undefined, 'the manager reports a missing list')
  t.equal(await ids(lists, { sort: '-path' }, { limit: '2' }), undefined, 'the order of all lists is not known')
  t.equal(await ids(lists, { limit: '5' }, { limit: '2' }), undefined, 'the total counts the page')
  const groups = endpointOf('v4 /groups')
  t.equal(await ids(groups, {}, { groups_list: 'name 1,other' }), undefined, 'the manager reports a missing group')
})

t.test('another replica finds the response', async (t) => {
  const clock = new ManualClock()
  const memory = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const stored = new Map<string, readonly Buffer[]>()
  const shared: SharedParts = {
    set: async (name, _id, parts) => stored.set(name, parts) === stored,
    get: async (name) => stored.get(name),
  }
  const options = { lifetimesOf, clock: clock.read, store: { ...memory, parts: shared } }
  const [one, other] = [replica(options), replica(options)]
  const agents = endpointOf('v3 /agents')
  one.nodes.respond = ({ query }) => pageOf(agents, query)
  for (let round = 0; round < 3; round += 1) {
    await one.read(requestOf(agents, { limit: '50' }))
    clock.advance(10_000)
  }
  other.nodes.respond = fail
  clock.advance(HOUR)
  t.match(await pageOrNone(other.read, requestOf(agents, PAGE)), { detail: 'outage' })
})

t.test('a user gets no rows that another user may read', async (t) => {
  const { read, nodes, clock } = replica({
    lifetimesOf,
    key: () => ({ secret: 'secret', policy: '1', perUser: true }),
  })
  const groups = endpointOf('v4 /groups')
  const alice: Caller = { name: 'alice', permissions: [] }
  nodes.respond = ({ query }) => pageOf(groups, query)
  await read(requestOf(groups, {}, alice))
  nodes.respond = fail
  clock.advance(HOUR)
  t.match(await pageOrNone(read, requestOf(groups, PAGE, alice)), { detail: 'outage' })
  t.equal(await pageOrNone(read, requestOf(groups, PAGE, { ...alice, name: 'bob' })), undefined)
})

t.test('nothing older than an acknowledged write', async (t) => {
  const { read, nodes, clock, store } = replica({ lifetimesOf })
  const agents = endpointOf('v3 /agents')
  nodes.respond = ({ query }) => pageOf(agents, query)
  await read(requestOf(agents, {}))
  await (await store.fence(['collection:agents'])).lift([])
  nodes.respond = fail
  clock.advance(HOUR)
  t.equal(await pageOrNone(read, requestOf(agents, PAGE)), undefined)
})

t.test('while nodes answer, nothing is computed from it', async (t) => {
  const { read, nodes } = replica({ lifetimesOf })
  const agents = endpointOf('v3 /agents')
  nodes.respond = ({ query }) => pageOf(agents, query)
  await read(requestOf(agents, {}))
  await read(requestOf(agents, PAGE))
  t.equal(nodes.calls, 2)
})
