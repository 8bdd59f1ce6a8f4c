/**
 * Joins the responses of N nodes with 500 rows each. The nodes run in a separate process and respond at once; the ways
 * of joining run in alternation in this process. Prints medians as `total · after the last byte (by CPU) · longest
 * block of the event loop · CPU`, all in ms, how they grow, memory, and the goals.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../packages/simulator/src/free-port.ts'
import { readOptions } from '../support/script-options.ts'
import { edgeBefore, joinedThrough, oneNode } from './cluster/edge.ts'
import { engine, type Full, goalsOf } from './cluster/goals.ts'
import { type Cost, cost, longestTurn, median, medianOf, memory } from './cluster/measure.ts'
import { type Costs, cellOf, type Goal, printGoals, printTable, round } from './cluster/report.ts'
import { createWays, type Page, type Way, type Ways } from './cluster/ways.ts'
import { compareWhole } from './cluster/whole.ts'
import { launch, type Running } from './contenders.ts'

const {
  values: { quick, whole },
} = readOptions({
  name: 'bench:cluster',
  purpose: 'Measures how long the edge takes to join responses of 3 to 300 nodes.',
  options: {
    quick: { kind: 'flag', meaning: 'fewer rounds' },
    whole: { kind: 'flag', meaning: 'measure only the whole edge, compared with receiving and joining alone' },
  },
})
const say = (text: string): void => console.log(text)
const COUNTS = [3, 10, 30, 100, 300]
const FIRST: Page = { offset: 0, limit: 500 }
const PAGES: readonly Page[] = [FIRST, { offset: 1000, limit: 500 }, { offset: 10_000, limit: 500 }]
const ROWS = 500
/** 64 MB of rows from these nodes. */
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
      // The first rounds have cold code and connections.
      if (turn >= 0) costs.get(way.name)?.push(one)
    }
  return costs
}

async function same(one: Way, other: Way): Promise<void> {
  for (const page of PAGES) {
    const [a, b] = [await one.run(30, page), await other.run(30, page)]
    if (!a.body || !b.body?.equals(a.body)) throw new Error(`${one.name} and ${other.name} return different pages`)
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
    'peak memory ÷ bytes received',
    COUNTS.map((nodes) => `N = ${nodes}`),
    rows,
    say,
  )
  return most
}

/** Measures the last pages of 64 MB and the longest turn of the event loop: with receiving, and joining only. */
async function full({ raw, joining, unsorted, alone }: Ways): Promise<Full> {
  const costs = await measure([raw, joining, unsorted], FULL, LAST)
  const joins = [await alone(FULL, true), await alone(FULL, false)]
  const rows = new Map<string, string[]>()
  const turns = new Map<string, number>()
  for (const way of [raw, joining, unsorted, ...joins]) {
    const tries: number[] = []
    for (let turn = 0; turn < (quick ? 3 : 7); turn++) tries.push(await longestTurn(way, FULL, LAST))
    turns.set(way.name, medianOf(tries))
    const all = costs.get(way.name)
    rows.set(way.name, [all ? cellOf(median(all)) : '–', round(medianOf(tries))])
  }
  printTable('64 MB, rows 100,000 to 101,000', ['total · after (CPU) · block · CPU', 'longest turn, CPU'], rows, say)
  const most = (ways: readonly Way[]) => Math.max(...ways.map(({ name }) => turns.get(name) ?? Number.NaN))
  const blocks = [joining, unsorted].flatMap(({ name }) => (costs.get(name) ?? []).map(({ block }) => block))
  return { block: Math.max(...blocks), received: most([joining, unsorted]), alone: most(joins) }
}

/** Measures the whole edge in front of different numbers of nodes; every agent reports to one node. */
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
      add('joined, cache hit', round(joined.hit))
      add('one node, through the edge', round(one.edge))
      add('one node, without the edge', round(one.node))
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
    const name = `N = ${nodes}, request to one node: ms more than without the edge`
    return { name, is: more[at], goal: 1, way: 'most' }
  })
}

/** Compares the CPU time of the whole edge with that of receiving and joining alone. */
async function wholeAndAlone(counts: readonly number[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'))
  const rows = new Map<string, string[]>()
  for (const nodes of counts) {
    const port = await freePort()
    const running = await startNodes(port, nodes)
    const edge = await edgeBefore(nodes, port, folder)
    const ways = createWays(port, nodes)
    try {
      const rounds = quick ? 5 : Math.max(5, Math.min(21, Math.round(900 / nodes)))
      const { edge: ofEdge, unsorted, sorted, ratio, unsortedToSorted } = await compareWhole(edge, ways, nodes, rounds)
      const cells = {
        'the whole edge': round(ofEdge),
        'received and joined, unsorted': round(unsorted),
        'received and joined, sorted': round(sorted),
        'edge ÷ unsorted': round(ratio),
        'unsorted ÷ sorted': round(unsortedToSorted),
      }
      for (const [name, cell] of Object.entries(cells)) rows.set(name, [...(rows.get(name) ?? []), cell])
    } finally {
      await ways.close()
      await edge.stop()
      await running.stop()
    }
  }
  await rm(folder, { recursive: true })
  const columns = counts.map((nodes) => `N = ${nodes}`)
  printTable('CPU of a fresh joined response, ms', columns, rows, say)
}

async function run(port: number): Promise<void> {
  const ways = createWays(port, Math.max(...COUNTS))
  const { raw, parsing, joining, unsorted } = ways
  try {
    for (let turn = 0; turn < WARM; turn++) {
      await same(parsing, joining)
      await same(parsing, unsorted)
    }
    say(`load average ${loadavg().map(round).join(' ')}`)
    const costs = await growth([raw, parsing, joining])
    await pages(quick ? [joining] : [joining, unsorted])
    const all = await full(ways)
    const most = await memories([parsing, joining, unsorted])
    const through = await wholeEdge(quick ? [3] : [3, 30])
    printGoals([...goalsOf(costs, all, most.get(engine)), ...through], say)
    say('not measured: throughput compared with @fastify/http-proxy, which is not installed')
    say(`load average ${loadavg().map(round).join(' ')}`)
  } finally {
    await ways.close()
  }
}

function startNodes(port: number, many: number): Promise<Running> {
  const file = fileURLToPath(new URL('./servers/nodes.ts', import.meta.url))
  const command = ['node', ...process.execArgv, file, String(port), String(many)]
  return launch('nodes', command, `http://127.0.0.1:${port}`)
}

async function runAll(): Promise<void> {
  const port = await freePort()
  const running = await startNodes(port, Math.max(...COUNTS))
  try {
    await run(port)
  } finally {
    await running.stop()
  }
}

if (whole) await wholeAndAlone(quick ? [3, 30] : COUNTS)
else await runAll()
