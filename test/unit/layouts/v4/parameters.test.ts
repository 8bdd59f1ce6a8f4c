/** Parameters of v3 requests in the form that a node with the v4 layout takes. */
import fc from 'fast-check'
import t from 'tap'
import { parseQuery, printQuery } from '../../../../src/collections/grammar.ts'
import { v4Value } from '../../../../src/collections/v4-names.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, success } from './recorded.ts'

const agents = (query: Record<string, string>, more = {}) => edgeRequest('GET', '/agents', { query, ...more })

const unexpected = (): never => {
  throw new Error('the node was called')
}

async function callOf(query: Record<string, string>): Promise<string> {
  const { calls } = await ask(agents(query), () => success([]))
  return calls[0] ?? ''
}

t.test('words for the status of agents', async (t) => {
  t.equal(await callOf({ status: 'NeverConnected,Active' }), 'GET /agents?status=never_connected,Active')
  t.equal(await callOf({ status: 'never connected' }), 'GET /agents?status=never_connected')
  t.equal(await callOf({ status: 'all' }), 'GET /agents')
  t.equal(await callOf({ status: 'active,all' }), 'GET /agents')
})

t.test('conditions have words for the status too', async (t) => {
  const call = await callOf({ q: '(status=neverconnected,status!=Active);id<005' })
  t.equal(call, 'GET /agents?q=(status=never_connected,status!=Active);id<005')
})

t.test('a semicolon is encoded, a comma is not', async (t) => {
  let path = ''
  await ask(agents({ q: 'id=001;id!=002,id=003' }), (call) => {
    path = call.path
    return success([])
  })
  t.equal(path, '/agents?q=id%3D001%3Bid%21%3D002,id%3D003')
})

t.test('a search is negated with a hyphen', async (t) => {
  t.equal(await callOf({ search: '!web' }), 'GET /agents?search=-web')
  t.equal(await callOf({ search: '"two words"' }), 'GET /agents?search=two words')
})

t.test('the edge searches for a text that begins with a hyphen', async (t) => {
  const rows = [
    { id: '001', name: 'a-web' },
    { id: '002', name: 'web' },
  ]
  const { calls, data } = await ask(agents({ search: '-web', limit: '10' }), () => success(rows))
  t.same(calls, ['GET /agents?limit=100000'])
  t.same(data, { items: [rows[0]], totalItems: 1 })
})

t.test('a search of more than 1,000 bytes, which stops the node for good, is never sent', async (t) => {
  t.match(await callOf({ search: 'x'.repeat(1_000) }), /search=x{1000}$/)
  t.match(await callOf({ search: '語'.repeat(333) }), /search=語{333}$/)
  for (const search of ['x'.repeat(1_001), `!${'x'.repeat(1_001)}`, '語'.repeat(334)]) {
    await t.rejects(ask(agents({ search }), unexpected), { code: 612, status: 400 })
  }
})

t.test('a version without the name of the product matches no agent, as in the v3 layout', async (t) => {
  t.equal(await callOf({ version: 'Wazuh v4.5.4' }), 'GET /agents?version=Wazuh v4.5.4')
  const rows = [{ id: '001', version: 'Wazuh v4.5.4' }]
  const { data } = await ask(agents({ version: 'v4.5.4' }), () => success(rows))
  t.same(data, { items: [], totalItems: 0 })
})

t.test('a request without a time limit has a value for its flag', async (t) => {
  const { calls } = await ask(agents({}, { waitForComplete: true }), () => success([]))
  t.same(calls, ['GET /agents?wait_for_complete=true'])
})

t.test('no call has a parameter without a value, because the node would ignore it silently', async (t) => {
  for (const endpoint of catalogue.filter(({ translation: v4 }) => v4 !== undefined)) {
    for (const [name, { kind }] of Object.entries(endpoint.query)) {
      if (!['flag', 'empty_boolean', 'boolean', 'yes_no'].includes(kind)) continue
      const rule = endpoint.translation?.call.params?.[name]
      const isConverted = rule?.format !== undefined || rule?.words !== undefined || rule?.ignored || rule?.byEdge
      t.ok(isConverted || endpoint.translation?.plan !== undefined, `${endpoint.method} ${endpoint.path}: ${name}`)
    }
  }
})

const name = fc.constantFrom('id', 'name', 'os.version', 'dateAdd')
const condition = fc
  .tuple(name, fc.constantFrom('=', '!=', '<', '>', '~'), fc.stringMatching(/^[A-Za-z0-9_. -]{1,12}$/))
  .map((parts) => parts.join(''))
const text = fc.letrec<{ readonly term: string; readonly joined: string }>((tie) => ({
  term: fc.oneof(
    { depthSize: 'small' },
    condition,
    tie('joined').map((inner) => `(${inner})`),
  ),
  joined: fc
    .tuple(tie('term'), fc.array(fc.tuple(fc.constantFrom(',', ';'), tie('term')), { maxLength: 3 }))
    .map(([first, rest]) => first + rest.flat().join('')),
})).joined

t.test('conditions keep their meaning when no name and no word differs', async () => {
  fc.assert(
    fc.property(text, (q) => {
      const parsed = parseQuery(q, { characters: 10_000, conditions: 10_000 })
      // Parentheses inside each other are limited.
      if (parsed === undefined) return
      const translated = parseQuery(v4Value('q', q, undefined) ?? '', { characters: 10_000, conditions: 10_000 })
      if (translated === undefined || printQuery(translated) !== printQuery(parsed)) throw new Error(q)
    }),
  )
})

t.test('names are translated in conditions only, not in their values', async (t) => {
  const rows = { fields: { 'os.name': { to: 'os_name' } } }
  t.equal(v4Value('q', 'os_name=os_name;(os_name~x,id=1)', rows), 'os.name=os_name;(os.name~x,id=1)')
})
