/**
 * Asks random queries of the v4 contract twice: the simulated node itself, whose query engine shares no code with
 * the edge, and through an edge that has all rows. Both responses must have the same bytes; where the node selects
 * members, their order is its own, so that the values are compared.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Test } from 'tap'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { compilePolicy } from '../../../../src/cache/policy.ts'
import { v4Sources } from '../../../../src/collections/v4-sources.ts'
import { cacheGroups } from '../../../../src/config/schema.ts'
import type { V4Endpoint } from '../../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'
import { startEdge } from '../../../support/edge.ts'
import { everyPart, queriesOf, type RandomQuery } from '../one-answer/queries.ts'

export interface Compared {
  readonly path: string
  readonly queries: number
  /** Answered from the snapshot. */
  readonly computed: number
  /** Of these, queries with another part than a page. */
  readonly special: number
  /** Refused by the node. */
  readonly refused: number
  readonly differences: readonly string[]
}

export interface Sites {
  compare(record: V4Endpoint, queries: number, seed: number, plant?: Plant): Promise<Compared>
  /** Compares some of the parts of a query, alone and beside others: each `step`th, from a random one on. */
  compareParts(record: V4Endpoint, step: number, from: number): Promise<Compared>
}

/** A fault of the edge: what it is asked in place of the query. */
export interface Plant {
  readonly fault: string
  readonly path: string
  readonly change: (query: RandomQuery) => RandomQuery
}

/** The collections with a snapshot. */
export const collections = v4Contract.filter((record) => {
  const policy = compilePolicy(record)
  return typeof policy !== 'string' && policy.snapshot !== undefined && record.releases?.since !== '4.14'
})

const PARAMS: Readonly<Record<string, string>> = {
  group_id: 'default',
  policy_id: 'unix_audit',
  requirement: 'pci_dss',
}
/** The members of rows that parameters name in another way. */
const MEMBERS: Readonly<Record<string, string>> = {
  agents_list: 'id',
  rule_ids: 'id',
  decoder_names: 'name',
  groups_list: 'name',
  nodes_list: 'name',
  hash: 'md5',
  group: 'groups',
  'nist-800-53': 'nist_800_53',
}
const PAGE: readonly string[] = ['offset', 'limit']
const PAIRS_AT_ONCE = 4
const AGENTS = 40
const PASSWORD = 'only-for-tests'

/** Not every agent has each kind of rows. */
const AGENT_IDS = ['001', '002', '003', '000', '005', '007', '010']

export function pathOf({ path }: V4Endpoint, agentId = '001'): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => (name === 'agent_id' ? agentId : (PARAMS[name] ?? '')))
}

interface Answered {
  readonly status: number
  readonly text: string
  readonly cacheStatus: string
}

type Ask = (url: string) => Promise<Answered>

export async function startSites(t: Pick<Test, 'teardown'>): Promise<Sites> {
  const start = new Date()
  const simulator = await startSimulator({
    layout: 'v4',
    agents: AGENTS,
    // The rows do not change during the run.
    now: () => start,
    password: PASSWORD,
    remember: false,
  })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings, password: PASSWORD })
  t.teardown(() => edge.close())
  const askEdge = await clientOf(edge.url, edge.authorization('admin'))
  const master = simulator.nodes[0]?.url ?? ''
  const askNode = await clientOf(master, `Basic ${Buffer.from(`edge:${PASSWORD}`).toString('base64')}`)

  const words = { negation: '-', members: MEMBERS }
  return {
    compare: (record, queries, seed, plant) =>
      compareSampled(
        record,
        (rows, fields) =>
          fc.sample(withFewParts(queriesOf(record, rows, fields, words)), {
            numRuns: queries,
            seed: seed + collections.indexOf(record),
          }),
        plant,
      ),
    compareParts: (record, step, from) =>
      compareSampled(record, (rows, fields) =>
        everyPart(record, rows, fields, words).filter((_, at) => (at + from) % step === 0),
      ),
  }

  async function compareSampled(record: V4Endpoint, sampled: Sampled, plant?: Plant): Promise<Compared> {
    const { path, rows } = await withRows(askNode, record)
    await warmUp(askEdge, path)
    const sample = sampled(rows, fieldsOf(record, rows))
    const tally = { computed: 0, special: 0, refused: 0 }
    const differences: string[] = []
    const next = sample.values()
    const askPairs = async (): Promise<void> => {
      for (const query of next) {
        const url = urlOf(path, query)
        const [expected, actual] = await Promise.all([
          askNode(url),
          askEdge(plant === undefined ? url : urlOf(path, plant.change(query))),
        ])
        const isComputed = /detail=snapshot/.test(actual.cacheStatus)
        if (isComputed) tally.computed += 1
        if (isComputed && Object.keys(query).some((name) => !PAGE.includes(name))) tally.special += 1
        if (expected.status !== 200) tally.refused += 1
        // What the edge itself refuses is no answer from a snapshot.
        if (!isComputed && actual.status === 400) continue
        if (!isSame(expected, actual, query))
          differences.push(`${url}\n    node ${shorten(expected.text)}\n    edge ${shorten(actual.text)}`)
      }
    }
    await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, askPairs))
    return { path, queries: sample.length, ...tally, differences }
  }
}

type Sampled = (rows: readonly Row[], fields: readonly string[]) => readonly RandomQuery[]

/** What the edge refuses itself has the status of the node. */
function isSame(expected: Answered, actual: Answered, { select }: RandomQuery): boolean {
  if (expected.status !== actual.status) return false
  if (expected.status !== 200 || expected.text === actual.text) return true
  return select !== undefined && isDeepStrictEqual(JSON.parse(expected.text), JSON.parse(actual.text))
}

/** All rows stay fresh during a run. */
const settings = {
  listen: { contract: 'v4' },
  cluster: {
    layout: 'v4',
    discover: false,
    limits: { timeout: '60s', perMinute: 0, inFlight: 16 },
  },
  access: { limits: { requestsPerSecond: 100_000, hitsPerSecond: 100_000 } },
  cache: {
    ttl: Object.fromEntries(cacheGroups.map((group) => [group, '1h'])),
    endpoints: {},
  },
}

function urlOf(path: string, query: RandomQuery): string {
  return `${path}?${new URLSearchParams(query)}`
}

async function clientOf(url: string, authorization: string): Promise<Ask> {
  const login = await fetch(`${url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization },
  })
  const headers = { authorization: `Bearer ${await login.text()}` }
  return async (path) => {
    const response = await fetch(url + path, { headers })
    const cacheStatus = response.headers.get('cache-status') ?? ''
    return { status: response.status, cacheStatus, text: await response.text() }
  }
}

/** Two different queries show that a snapshot pays; further ones, that it pays for several calls. */
async function warmUp(askEdge: Ask, path: string): Promise<void> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    const { cacheStatus } = await askEdge(`${path}?limit=${attempt}`)
    if (/hit.*detail=snapshot/.test(cacheStatus)) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`${path}: there is no snapshot after 100 queries`)
}

type Row = string | Readonly<Record<string, unknown>>

async function withRows(askNode: Ask, record: V4Endpoint): Promise<{ path: string; rows: readonly Row[] }> {
  for (const id of AGENT_IDS) {
    const path = pathOf(record, id)
    const { text } = await askNode(`${path}?limit=1000`)
    const { data } = JSON.parse(text) as { data?: { affected_items: readonly Row[] } }
    if (data !== undefined && data.affected_items.length > 0) return { path, rows: data.affected_items }
  }
  throw new Error(`no agent has rows of ${record.path}`)
}

/** Most queries of clients have one or two parts. With more, a node must answer most of them. */
function withFewParts(queries: fc.Arbitrary<RandomQuery>): fc.Arbitrary<RandomQuery> {
  return fc.tuple(queries, fc.nat(), fc.nat()).map(([query, first, second]) => {
    const names = Object.keys(query)
    const some = [names[first % names.length], names[second % names.length]]
    return Object.fromEntries(Object.entries(query).filter(([name]) => first % 5 === 0 || some.includes(name)))
  })
}

/** The fields of the source, and the members of the rows. */
function fieldsOf(record: V4Endpoint, rows: readonly Row[]): readonly string[] {
  const policy = compilePolicy(record)
  const source = typeof policy === 'string' ? undefined : v4Sources[policy.snapshot as keyof typeof v4Sources]
  const [first] = rows
  const names = typeof first === 'object' ? Object.keys(first) : []
  return [...new Set([...Object.keys(source?.engine === 'database' ? source.fields : {}), ...names])]
}

function shorten(text: string): string {
  return text.length > 700 ? `${text.slice(0, 600)}…${text.slice(-90)}` : text
}
