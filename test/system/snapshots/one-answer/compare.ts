/**
 * Asks random queries twice: through an edge that has no snapshots, so that a node answers, and through an edge that has
 * all rows. Both responses must be the same.
 */
import fc from 'fast-check'
import type { Test } from 'tap'
import { type Layout, startSimulator } from '../../../../packages/simulator/src/index.ts'
import { compilePolicy } from '../../../../src/cache/policy.ts'
import { cacheGroups } from '../../../../src/config/schema.ts'
import type { V3Endpoint } from '../../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { type RunningEdge, startEdge } from '../../../support/edge.ts'
import { engineCollectionOf } from '../../../support/engine/collections.ts'
import type { EngineItem } from '../../../support/engine/outcome.ts'
import { bodyOf, FROM_ORACLE, startOracleNode } from './oracle-node.ts'
import type { Plant } from './plants.ts'
import { everyPart, queriesOf, type RandomQuery } from './queries.ts'
import { type Answered, REMAINING } from './remaining.ts'

export interface Compared {
  readonly path: string
  readonly queries: number
  /** Answered from the snapshot. */
  readonly computed: number
  /** Of these, pages that have rows. */
  readonly withRows: number
  /** Errors of either response. */
  readonly refused: number
  /** Differences by the names of `REMAINING`. */
  readonly remaining: Readonly<Record<string, number>>
  readonly differences: readonly string[]
}

export interface Sites {
  readonly collections: readonly V3Endpoint[]
  /** Compares some queries of one collection. */
  compare(record: V3Endpoint, queries: number, seed: number): Promise<Compared>
  /** Compares some of the parts of a query, alone and beside others: each `step`th, from the one at `from` on. */
  compareParts(record: V3Endpoint, step: number, from: number): Promise<Compared>
  /** Compares a node with a faulty engine in place of the snapshot, which only the v3 layout has. */
  comparePlanted(plant: Plant, queries: number, seed: number): Promise<Compared>
}

/** The collections with a snapshot. */
export const collections = catalogue.filter((record) => {
  const policy = compilePolicy(record)
  return typeof policy !== 'string' && policy.snapshot !== undefined
})

const PARAMS: Readonly<Record<string, string>> = {
  agent_id: '001',
  group_id: 'default',
  rule_id: '5710',
  decoder_name: 'sshd',
}
/** Joined collections have more rows than a page; a v4 node takes many calls for them. */
const AGENTS = { v3: 40, v4: 12 } as const
const MAX_DIFFERENCES = 3
const PAIRS_AT_ONCE = 4

export const pathOf = ({ path }: V3Endpoint) => path.replaceAll(/:(\w+)/g, (_, name: string) => PARAMS[name] ?? '')

export async function startSites(t: Pick<Test, 'teardown'>, layout: Layout): Promise<Sites> {
  const start = new Date()
  // The rows do not change during the run.
  const simulator = await startSimulator({
    layout,
    agents: AGENTS[layout],
    now: () => start,
    password: 'only-for-tests',
    remember: false,
  })
  t.teardown(() => simulator.close())
  const known = collections.map(pathOf).filter((path) => engineCollectionOf(path) !== undefined)
  const oracle = layout === 'v3' ? await startOracleNode(t, simulator, known) : undefined
  const nodes = oracle === undefined ? simulator.nodes : [{ name: 'master', type: 'master', url: oracle.url } as const]
  const edgeWith = async (groups: readonly string[]) => {
    const edge = await startEdge({ nodes, settings: settingsOf(layout, groups), password: 'only-for-tests' })
    t.teardown(() => edge.close())
    return edge
  }
  const cold = await edgeWith([])
  const warm = await edgeWith(cacheGroups)

  const compareWith = async (record: V3Endpoint, sampled: Sampled, askOther: Ask): Promise<Compared> => {
    const path = pathOf(record)
    const given = oracle?.find(path)?.rows ?? (await rowsThrough(cold, path))
    const rowsOutsideAscii = given.filter((row) => /[^ -~]/.test(JSON.stringify(row))).length
    const sample = sampled(given, fieldsOf(path, given))
    const tally = { computed: 0, withRows: 0, refused: 0 }
    const remaining: Record<string, number> = {}
    const differences: string[] = []
    const next = sample.values()
    const askPairs = async (): Promise<void> => {
      for (const query of next) {
        const url = `${path}?${new URLSearchParams(query)}`
        const [expected, actual] = await Promise.all([ask(cold, url), askOther(url, query)])
        // A planted engine does not refuse what the edge itself refuses.
        if (askOther !== askWarm && !isFromNode(expected)) continue
        if (/detail=snapshot/.test(actual.cacheStatus)) tally.computed += 1
        if (actual.body.error !== 0 || expected.body.error !== 0) tally.refused += 1
        else if (/detail=snapshot/.test(actual.cacheStatus) && hasRows(actual.body)) tally.withRows += 1
        if (actual.text === expected.text && actual.status === expected.status) continue
        const asked = { path, query, rowsOutsideAscii }
        const known = REMAINING.find(({ covers }) => covers(asked, expected, actual))
        if (known) remaining[known.name] = (remaining[known.name] ?? 0) + 1
        else if (differences.length < MAX_DIFFERENCES)
          differences.push(`${url}\n    node ${shorten(expected.text)}\n    edge ${shorten(actual.text)}`)
        else differences.push(url)
      }
    }
    await Promise.all(Array.from({ length: PAIRS_AT_ONCE }, askPairs))
    return { path, queries: sample.length, ...tally, remaining, differences }
  }

  const askWarm: Ask = (url) => ask(warm, url)
  const randomOf =
    (record: V3Endpoint, queries: number, seed: number): Sampled =>
    (rows, fields) =>
      fc.sample(queriesOf(record, rows, fields), { numRuns: queries, seed: seed + collections.indexOf(record) })
  const compareSampled = async (record: V3Endpoint, sampled: Sampled): Promise<Compared> => {
    await warmUp(warm, pathOf(record))
    return compareWith(record, sampled, askWarm)
  }
  const compare = (record: V3Endpoint, queries: number, seed: number) =>
    compareSampled(record, randomOf(record, queries, seed))
  const compareParts = (record: V3Endpoint, step: number, from: number) =>
    compareSampled(record, (rows, fields) =>
      everyPart(record, rows, fields).filter((_, at) => (at + from) % step === 0),
    )
  const comparePlanted = (plant: Plant, queries: number, seed: number): Promise<Compared> => {
    const record = collections.find((each) => pathOf(each) === plant.path)
    const found = oracle?.find(plant.path)
    if (record === undefined || found === undefined) throw new Error(`the oracle does not answer ${plant.path}`)
    const engine = plant.prepare?.(found.collection, found.rows, found.engine) ?? found.engine
    return compareWith(record, randomOf(record, queries, seed), async (_, query) => {
      const outcome = engine.answer(query, new Date())
      const limit = Number(query.limit ?? 500)
      // The edge cuts pages of a node that are longer than the limit.
      const cut = outcome.kind === 'page' ? { ...outcome, items: outcome.items.slice(0, limit) } : outcome
      const text = JSON.stringify(bodyOf(cut))
      return { status: 200, cacheStatus: '', text, body: JSON.parse(text) }
    })
  }
  return { collections, compare, compareParts, comparePlanted }
}

type Sampled = (rows: readonly EngineItem[], fields: readonly string[]) => readonly RandomQuery[]
type Ask = (url: string, query: Readonly<Record<string, string>>) => Promise<Answered>

/** Otherwise the edge itself refused the request. */
function isFromNode({ body }: Answered): boolean {
  return body.error === 0 || `${body.message}`.startsWith(FROM_ORACLE)
}

/** All rows stay fresh during a run. */
function settingsOf(layout: Layout, groups: readonly string[]) {
  return {
    cluster: { layout, discover: false, limits: { timeout: '60s', perMinute: 0, inFlight: 16 } },
    access: { limits: { requestsPerSecond: 100_000, hitsPerSecond: 100_000 } },
    cache: {
      snapshots: { groups: [...groups] },
      ttl: Object.fromEntries(cacheGroups.map((group) => [group, '1h'])),
      endpoints: {},
    },
  }
}

async function ask(edge: RunningEdge, url: string): Promise<Answered> {
  const response = await fetch(edge.url + url, { headers: { authorization: edge.authorization('admin') } })
  const text = await response.text()
  return {
    status: response.status,
    cacheStatus: response.headers.get('cache-status') ?? '',
    text,
    body: JSON.parse(text),
  }
}

/** Two different queries show that a snapshot pays; further ones, that it pays for several calls. */
async function warmUp(edge: RunningEdge, path: string): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const { cacheStatus } = await ask(edge, `${path}?limit=${(attempt % 400) + 1}`)
    if (/hit.*detail=snapshot/.test(cacheStatus)) return
    await new Promise((resolve) => setImmediate(resolve))
  }
  throw new Error(`${path}: there is no snapshot after 400 queries`)
}

async function rowsThrough(edge: RunningEdge, path: string): Promise<readonly EngineItem[]> {
  const rows: EngineItem[] = []
  for (;;) {
    const { body } = await ask(edge, `${path}?limit=1000&offset=${rows.length}`)
    const { items } = body.data as { readonly items: readonly EngineItem[] }
    rows.push(...items)
    if (items.length < 1000) return rows
  }
}

/** The fields of the table, or those of the rows. */
export function fieldsOf(path: string, rows: readonly EngineItem[]): readonly string[] {
  const found = engineCollectionOf(
    path.replace('/experimental/syscollector/', '/syscollector/001/').replace('/experimental/ciscat/', '/ciscat/001/'),
  )
  if (found?.kind === 'database') return Object.keys(found.collection.table.columns)
  const [first] = rows
  const names = typeof first === 'object' ? Object.keys(first) : []
  return [...new Set([...(found?.collection.sortable ?? []), ...names])]
}

function hasRows({ data }: Answered['body']): boolean {
  return ((data as { readonly items?: readonly unknown[] } | undefined)?.items?.length ?? 0) > 0
}

function shorten(text: string): string {
  return text.length > 700 ? `${text.slice(0, 600)}…${text.slice(-90)}` : text
}
