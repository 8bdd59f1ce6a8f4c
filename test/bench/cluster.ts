/**
 * Joining what N nodes of 500 rows answer: nodes in a process of their own that answer at once, the ways in turns in
 * this one. Prints medians as `total · after the last byte (by CPU) · longest block of the event loop · CPU`, all in
 * ms, how they grow, memory, and the goals. `--quick` for a short run.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../redis.ts'
import { edgeBefore, joinedThrough, oneNode } from './cluster/edge.ts'
import { type Cost, cost, longestTurn, median, medianOf, memory } from './cluster/measure.ts'
import { type Costs, cellOf, type Goal, paired, printGoals, printTable, round } from './cluster/report.ts'
import { createWays, type Page, type Way, type Ways } from './cluster/ways.ts'
import { launch, type Running } from './contenders.ts'

const quick = process.argv.includes('--quick')
const say = (text: string): void => console.log(text)
const COUNTS = [3, 10, 30, 100, 300]
const FIRST: Page = { offset: 0, limit: 500 }
const PAGES: readonly Page[] = [FIRST, { offset: 1000, limit: 500 }, { offset: 10_000, limit: 500 }]
const ROWS = 500
/** Their names in the tables. */
const [floor, parse, engine] = ['raw sockets, bytes only', 'undici, parse, merge, stringify', 'undici, join']
/** 64 MB in rows of these nodes. */
const FULL = 213
const WARM = quick ? 2 : 6
const LAST: Page = { offset: 100_000, limit: 1000 }

const roundsFor = (nodes: number): number =>
  Math.max(3, Math.min(quick ? 7 : 41, Math.round((quick ? 150 : 3000) / nodes)))

async function measure(ways: readonly Way[], nodes: number, page: Page): Promise<Map<string, Cost[]>> {
  const costs = new Map<string, Cost[]>(ways.map(({ name }) => [name, []]))
  for (let turn = -2; turn < roundsFor(nodes); turn++)
    for (const way of ways) {
      const one = await cost(way, nodes, page)
      // The first turns find cold code and connections.
      if (turn >= 0) costs.get(way.name)?.push(one)
    }
  return costs
}

async function same(one: Way, other: Way): Promise<void> {
  for (const page of PAGES) {
    const [a, b] = [await one.run(30, page), await other.run(30, page)]
    if (!a.body || !b.body?.equals(a.body)) throw new Error(`${one.name} and ${other.name} answer differently`)
  }
}

async function growth(ways: readonly Way[]): Promise<Costs> {
  const costs = new Map<string, Map<number, readonly Cost[]>>(ways.map(({ name }) => [name, new Map()]))
  for (const nodes of COUNTS)
    for (const [name, all] of await measure(ways, nodes, FIRST)) costs.get(name)?.set(nodes, all)
  const columns = COUNTS.map((nodes) => `N = ${nodes}`)
  const cells = (of: (all: readonly Cost[]) => string) =>
    new Map([...costs].map(([name, all]) => [name, COUNTS.map((nodes) => of(all.get(nodes) ?? []))]))
  printTable(
    'total · after (CPU) · block · CPU',
    columns,
    cells((all) => cellOf(median(all))),
    say,
  )
  return costs
}

async function pages(ways: readonly Way[]): Promise<void> {
  const rows = new Map<string, string[]>()
  for (const nodes of COUNTS)
    for (const page of PAGES) {
      const within = page.offset < nodes * ROWS
      const costs = within ? await measure(ways, nodes, page) : new Map<string, Cost[]>()
      for (const { name } of ways) {
        const row = `${name}, offset ${page.offset}`
        rows.set(row, [...(rows.get(row) ?? []), within ? cellOf(median(costs.get(name) ?? [])) : '–'])
      }
    }
  printTable(
    'total · after (CPU) · block · CPU',
    COUNTS.map((nodes) => `N = ${nodes}`),
    rows,
    say,
  )
}

async function memories(ways: readonly Way[]): Promise<Map<string, number>> {
  const [rows, most] = [new Map<string, string[]>(), new Map<string, number>()]
  for (const way of ways) {
    const all: number[] = []
    for (const nodes of COUNTS) {
      const tries: number[] = []
      for (let turn = 0; turn < (quick ? 1 : 3); turn++) tries.push(await memory(way, nodes, FIRST))
      all.push(medianOf(tries))
    }
    rows.set(way.name, all.map(round))
    most.set(way.name, Math.max(...all))
  }
  printTable(
    'peak memory over bytes received',
    COUNTS.map((nodes) => `N = ${nodes}`),
    rows,
    say,
  )
  return most
}

function goalsOf(costs: Costs, turns: number, full: readonly Cost[], most: number | undefined): Goal[] {
  const of = (nodes: number) => median(costs.get(engine)?.get(nodes) ?? [])
  const best = (name: string, nodes: number, what: 'total' | 'after') =>
    Math.min(...(costs.get(name)?.get(nodes) ?? []).map((one) => one[what]))
  const goals: Goal[] = []
  for (const nodes of [3, 10, 30, 100]) {
    const { after, afterCpu } = of(nodes)
    goals.push({
      says: `N = ${nodes}, ms after the last byte`,
      is: after,
      byCpu: afterCpu,
      best: best(engine, nodes, 'after'),
      goal: 1.5,
      way: 'most',
    })
    const [is, byCpu] = both((what) => paired(costs, engine, floor, nodes, what))
    goals.push({
      says: `N = ${nodes}, total over raw sockets`,
      is,
      byCpu,
      best: best(engine, nodes, 'total') / best(floor, nodes, 'total'),
      goal: 2.5,
      way: 'most',
    })
  }
  const [is, byCpu] = both((what) => of(300)[what] / of(100)[what])
  goals.push({
    says: 'total of N = 300 over N = 100',
    is,
    byCpu,
    best: best(engine, 300, 'total') / best(engine, 100, 'total'),
    goal: 3,
    way: 'most',
  })
  for (const nodes of [10, 30, 100, 300]) {
    const [is, byCpu] = both((what) => paired(costs, parse, engine, nodes, what))
    goals.push({
      says: `N = ${nodes}, faster than parse, merge, stringify`,
      is,
      byCpu,
      best: best(parse, nodes, 'total') / best(engine, nodes, 'total'),
      goal: 5,
      way: 'least',
    })
  }
  const block = Math.max(...full.map((one) => one.block))
  goals.push({ says: '64 MB joined, longest block, ms', is: block, byCpu: turns, goal: 20, way: 'most' })
  goals.push({ says: 'peak memory over bytes received, any N', is: most, goal: 2, way: 'most' })
  return goals
}

function both<T>(of: (what: 'total' | 'cpu') => T): readonly [T, T] {
  return [of('total'), of('cpu')]
}

/** Both lasts through 64 MB of rows, and the longest turn of the event loop while bytes alone come in, and while they are joined. */
async function full({ raw, joining, unsorted }: Ways): Promise<{ costs: readonly Cost[]; turns: number }> {
  const costs = await measure([raw, joining, unsorted], FULL, LAST)
  const turns = new Map<string, number>()
  for (const way of [raw, joining, unsorted]) {
    const tries: number[] = []
    for (let turn = 0; turn < (quick ? 1 : 3); turn++) tries.push(await longestTurn(way, FULL, LAST))
    turns.set(way.name, medianOf(tries))
  }
  const cells = [...costs].map(([name, all]) => [name, [cellOf(median(all)), round(turns.get(name) ?? 0)]] as const)
  printTable(
    '64 MB, rows 100,000 to 101,000',
    ['total · after (CPU) · block · CPU', 'longest turn, CPU'],
    new Map(cells),
    say,
  )
  const joins = [joining.name, unsorted.name]
  return {
    costs: joins.flatMap((name) => costs.get(name) ?? []),
    turns: Math.max(...joins.map((name) => turns.get(name) ?? 0)),
  }
}

/** The whole edge in front of so many nodes, each count with nodes of its own: every agent reports to one of them. */
async function wholeEdge(counts: readonly number[]): Promise<Goal[]> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const [rows, more] = [new Map<string, string[]>(), [] as number[]]
  const add = (row: string, cell: string) => rows.set(row, [...(rows.get(row) ?? []), cell])
  for (const nodes of counts) {
    const port = await freePort()
    const running = await startNodes(port, nodes)
    const edge = await edgeBefore(nodes, port, folder)
    try {
      const joined = await joinedThrough(edge, quick ? 7 : 41)
      const one = await oneNode(edge, port, quick ? 100 : 1000)
      add('joined, fresh (CPU of the edge)', `${round(joined.fresh)} (${round(joined.cpu)})`)
      add('joined, out of the cache', round(joined.hit))
      add('one node, through the edge', round(one.edge))
      add('the same, asked of the node', round(one.node))
      more.push(one.more)
    } finally {
      await edge.stop()
      await running.stop()
    }
  }
  await rm(folder, { recursive: true })
  printTable(
    'the whole edge, ms',
    counts.map((nodes) => `N = ${nodes}`),
    rows,
    say,
  )
  return counts.map((nodes, at) => {
    const says = `N = ${nodes}, a request of one node, over asking that node, ms`
    return { says, is: more[at], goal: 1, way: 'most' }
  })
}

async function run(port: number): Promise<void> {
  const ways = createWays(port, Math.max(...COUNTS))
  const { raw, parsing, joining, unsorted } = ways
  try {
    for (let turn = 0; turn < WARM; turn++) {
      await same(parsing, joining)
      await same(parsing, unsorted)
    }
    say(`load of the machine ${loadavg().map(round).join(' ')}`)
    const costs = await growth([raw, parsing, joining])
    await pages(quick ? [joining] : [joining, unsorted])
    const all = await full(ways)
    const most = await memories([parsing, joining, unsorted])
    const through = await wholeEdge(quick ? [3] : [3, 30])
    printGoals([...goalsOf(costs, all.turns, all.costs, most.get(engine)), ...through], say)
    say('not measured: throughput against @fastify/http-proxy, which is no dependency here')
    say(`load of the machine ${loadavg().map(round).join(' ')}`)
  } finally {
    await ways.close()
  }
}

function startNodes(port: number, many: number): Promise<Running> {
  const file = fileURLToPath(new URL('./servers/nodes.ts', import.meta.url))
  const command = ['node', ...process.execArgv, file, String(port), String(many)]
  return launch('nodes', command, `http://127.0.0.1:${port}`)
}

const port = await freePort()
const running = await startNodes(port, Math.max(...COUNTS))
try {
  await run(port)
} finally {
  await running.stop()
}
