import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { snapshotSourceOf } from '../../../src/cache/snapshots/derivation.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import { flattenRow } from '../../../src/query/select.ts'
import { fieldValue, type Row } from '../../../src/query/value.ts'
import { edgeRequest } from '../../support/edge-requests.ts'
import { simulated } from '../../support/simulated.ts'

/** All rows stay fresh during the test. */
const settings = {
  access: { limits: { requestsPerSecond: 100_000 } },
  cache: {
    snapshots: { groups: [...cacheGroups] },
    ttl: Object.fromEntries(cacheGroups.map((group) => [group, '10m'])),
    endpoints: {},
  },
}
const QUERIES = 40
/** The data of the simulator does not change during the test. */
const start = new Date()
const params: Readonly<Record<string, string>> = {
  agent_id: '001',
  group_id: 'default',
  rule_id: '5710',
  decoder_name: 'sshd',
}

interface Answer {
  readonly error: number
  readonly data?: { readonly items: readonly Row[]; readonly totalItems: number }
}

const records = catalogue.filter((record) => {
  const policy = compilePolicy(record)
  // A node returns other rows for collections over all agents: every-joined-collection.test.ts.
  return typeof policy !== 'string' && policy.snapshot !== undefined && !policy.isJoined
})

t.test(
  'one URL, one answer: a random query of every collection gets the response of the node, with a snapshot too',
  async (t) => {
    const { simulator, edge } = await simulated(t, { agents: 40, now: () => start }, { settings })
    const ask = async (base: string, authorization: string, url: string) => {
      const response = await fetch(base + url, { headers: { authorization } })
      return { body: (await response.json()) as Answer, status: response.headers.get('cache-status') ?? '' }
    }
    const node = (url: string) =>
      ask(simulator.nodes[0]?.url ?? '', `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}`, url)
    const edgeOf = (url: string) => ask(edge.url, edge.authorization('admin'), url)

    t.ok(records.length >= 33, `${records.length} collections`)
    for (const record of records) {
      const path = record.path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '')
      const { data } = (await node(`${path}?limit=1000`)).body
      if (data === undefined) {
        t.fail(`${path} has no rows`)
        continue
      }
      // Two different queries.
      await edgeOf(`${path}?limit=7`)
      await edgeOf(`${path}?limit=8`)
      const query = queriesOf(record, data.items)
      const property = fc.asyncProperty(query, async (wanted) => {
        const url = `${path}?${new URLSearchParams(wanted)}`
        const [expected, actual] = [await node(url), await edgeOf(url)]
        if (!isDeepStrictEqual(actual.body, cutToLimit(expected.body, wanted.limit))) {
          throw new Error(`${url}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected.body)}`)
        }
      })
      const { errorInstance, seed } = await fc.check(property, { numRuns: QUERIES, endOnFailure: true })
      t.equal((errorInstance as Error | undefined)?.message.slice(0, 3000), undefined, `${path}, seed ${seed}`)
      t.match((await edgeOf(`${path}?limit=9`)).status, /detail=snapshot/, `${path}: a new query costs no call`)
    }
  },
)

/** A node returns up to 19 rows too many, which the edge never passes on. */
function cutToLimit({ data, ...answer }: Answer, limit = '500'): Answer {
  return data === undefined ? answer : { ...answer, data: { ...data, items: data.items.slice(0, Number(limit)) } }
}

/** Queries with the parameters of the record, and with values that the rows have. */
function queriesOf(record: (typeof records)[number], items: readonly Row[]): fc.Arbitrary<Record<string, string>> {
  const source = snapshotSourceOf(edgeRequest('', { endpoint: record }))
  if (source === undefined) throw new Error(`${record.path} has no source`)
  const rows = source.engine === 'database' && source.nested ? items.map(flattenRow) : items
  const fields = source.engine === 'database' ? Object.keys(source.fields) : (source.sortable ?? ['nope'])
  const valuesOf = (field: string) => {
    const values = rows.slice(0, 20).map((row) => fieldValue(row, field))
    return values
      .flat()
      .filter((value) => value !== undefined && !/[^\w .-]/.test(String(value)))
      .map(String)
  }
  const field = fc.constantFrom(...fields)
  const found = fields.filter((name) => valuesOf(name).length > 0)
  const condition = fc
    .tuple(fc.constantFrom(...(found.length > 0 ? found : fields)), fc.constantFrom('=', '!=', '<', '>', '~'), fc.nat())
    .map(([name, operator, at]) => {
      const values = [...valuesOf(name), 'null', 'all', '1d', '2026-11-20', 'outstandi']
      return name + operator + values[at % values.length]
    })
  const filters = Object.keys(record.query)
    .filter((name) => valuesOf(name).length > 0)
    .map((name) => {
      const value = fc.nat().map((at) => valuesOf(name)[at % valuesOf(name).length] ?? '')
      const alternatives = fc.tuple(value, value).map((pair) => pair.join())
      // The edge refuses lists of hashes.
      const isOne = record.query[name]?.kind === 'hashes'
      return [name, isOne ? value : fc.oneof({ arbitrary: value, weight: 3 }, alternatives)] as const
    })
  const parts: Record<string, fc.Arbitrary<string>> = {
    offset: fc.constantFrom('0', '1', '5', '30', '2000'),
    limit: fc.constantFrom('1', '7', '33', '500', '1000'),
    sort: fc.tuple(fc.constantFrom('', '+', '-'), field).map(([sign, name]) => sign + name),
    search: fc.constantFrom('a', '!a', '1', 'DE', 'nothing at all', '_', '"o"', '25-', '20', '2026-', ':', 'é'),
    select: fc.array(field, { minLength: 1, maxLength: 3 }).map((names) => names.join(',')),
    q: fc.oneof(
      condition,
      fc.tuple(condition, condition).map((pair) => pair.join(';')),
      fc.tuple(condition, condition).map((pair) => pair.join()),
      fc.tuple(condition, condition, condition).map(([a, b, c]) => `${a};(${b},${c})`),
    ),
    ...Object.fromEntries(filters),
  }
  const known = Object.fromEntries(Object.entries(parts).filter(([name]) => Object.hasOwn(record.query, name)))
  // Most queries have few parts, so that they find something.
  return fc
    .tuple(fc.record(known, { requiredKeys: [] }), fc.subarray(Object.keys(known), { maxLength: 3 }))
    .map(([query, names]) => Object.fromEntries(Object.entries(query).filter(([name]) => names.includes(name))))
    .map((query) => query as Record<string, string>)
}
