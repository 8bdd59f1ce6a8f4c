/**
 * Joining what N nodes of 500 rows answer: nodes in a process of their own that answer at once, the ways in turns in
 * this one. Prints medians as `total · after the last byte · longest block of the event loop · CPU`, all in ms, how
 * they grow, memory, and the goals. `--quick` for a short run.
 */
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { freePort } from '../redis.ts'
import { type Cost, cost, median, memory } from './cluster/measure.ts'
import { type Costs, cellOf, type Goal, paired, printGoals, printTable, round } from './cluster/report.ts'
import { createWays, type Page, type Way } from './cluster/ways.ts'
import { launch } from './contenders.ts'

const quick = process.argv.includes('--quick')
const say = (text: string): void => console.log(text)
const COUNTS = [3, 10, 30, 100, 300]
const FIRST: Page = { offset: 0, limit: 500 }
const PAGES: readonly Page[] = [FIRST, { offset: 1000, limit: 500 }, { offset: 10_000, limit: 500 }]
const ROWS = 500
/** 64 MB in rows of these nodes. */
const FULL = 213

const roundsFor = (nodes: number): number =>
  Math.max(3, Math.min(quick ? 7 : 41, Math.round((quick ? 210 : 3000) / nodes)))

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
    'total · after · block · CPU',
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
    'total · after · block · CPU',
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
      for (let turn = 0; turn < 3; turn++) tries.push(await memory(way, nodes, FIRST))
      all.push(tries.sort((a, b) => a - b)[1] ?? Number.NaN)
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

function goalsOf(costs: Costs, full: readonly Cost[], most: number | undefined): Goal[] {
  const of = (nodes: number) => costs.get('undici, join')?.get(nodes) ?? []
  const goals: Goal[] = []
  for (const nodes of [3, 10, 30, 100]) {
    goals.push({ says: `N = ${nodes}, ms after the last byte`, is: median(of(nodes)).after, goal: 1.5, way: 'most' })
    const over = paired(costs, 'undici, join', 'raw sockets, bytes only', nodes, 'total')
    goals.push({ says: `N = ${nodes}, total over raw sockets`, is: over, goal: 2.5, way: 'most' })
  }
  goals.push({
    says: 'total of N = 300 over N = 100',
    is: median(of(300)).total / median(of(100)).total,
    goal: 3,
    way: 'most',
  })
  for (const nodes of [10, 30, 100, 300])
    for (const what of ['total', 'after'] as const) {
      const faster = paired(costs, 'undici, parse, merge, stringify', 'undici, join', nodes, what)
      const says = `N = ${nodes}, ${what === 'total' ? 'faster' : 'faster after the last byte'} than parse, merge, stringify`
      goals.push({ says, is: faster, goal: 5, way: 'least' })
    }
  goals.push({
    says: '64 MB joined, longest block, ms',
    is: Math.max(...full.map(({ block }) => block)),
    goal: 20,
    way: 'most',
  })
  goals.push({ says: 'peak memory over bytes received, any N', is: most, goal: 2, way: 'most' })
  return goals
}

async function run(port: number): Promise<void> {
  const ways = createWays(port, Math.max(...COUNTS))
  const { floor, parse, engine, unsorted } = ways
  try {
    await same(parse, engine)
    await same(parse, unsorted)
    say(`load of the machine ${loadavg().map(round).join(' ')}`)
    const costs = await growth([floor, parse, engine])
    await pages(quick ? [engine] : [engine, unsorted])
    const everything = [...(await measure([floor, engine, unsorted], FULL, { offset: 100_000, limit: 1000 }))]
    printTable(
      '64 MB, rows 100,000 to 101,000',
      ['total · after · block · CPU'],
      new Map(everything.map(([name, all]) => [name, [cellOf(median(all))]])),
      say,
    )
    const most = await memories([parse, engine, unsorted])
    const full = everything.filter(([name]) => name !== floor.name).flatMap(([, all]) => all)
    printGoals(goalsOf(costs, full, most.get(engine.name)), say)
    say(`load of the machine ${loadavg().map(round).join(' ')}`)
  } finally {
    await ways.close()
  }
}

const port = await freePort()
const nodes = fileURLToPath(new URL('./servers/nodes.ts', import.meta.url))
const command = ['node', ...process.execArgv, nodes, String(port), String(Math.max(...COUNTS))]
const running = await launch('nodes', command, `http://127.0.0.1:${port}`)
try {
  await run(port)
} finally {
  await running.stop()
}
