/** Compares the measured values with the goals for joining. */
import { median } from './measure.ts'
import { type Costs, type Goal, paired } from './report.ts'

/** The names of the ways in the tables. */
export const [floor, parse, engine] = ['raw sockets, bytes only', 'undici, parse, merge, stringify', 'undici, join']

/** For 64 MB: the longest block by wall clock, and the longest turns of the event loop by CPU time. */
export interface Full {
  readonly block: number
  readonly received: number
  readonly alone: number
}

export function goalsOf(costs: Costs, full: Full, most: number | undefined): Goal[] {
  const of = (nodes: number) => median(costs.get(engine)?.get(nodes) ?? [])
  const best = (name: string, nodes: number, what: 'total' | 'after') =>
    Math.min(...(costs.get(name)?.get(nodes) ?? []).map((one) => one[what]))
  const goals: Goal[] = []
  for (const nodes of [3, 10, 30, 100]) {
    const { after, afterCpu } = of(nodes)
    goals.push({
      name: `N = ${nodes}, ms after the last byte`,
      is: after,
      byCpu: afterCpu,
      best: best(engine, nodes, 'after'),
      goal: 1.5,
      way: 'most',
    })
    const [is, byCpu] = both((what) => paired(costs, engine, floor, nodes, what))
    goals.push({
      name: `N = ${nodes}, total ÷ that of raw sockets`,
      is,
      byCpu,
      best: best(engine, nodes, 'total') / best(floor, nodes, 'total'),
      goal: 2.5,
      way: 'most',
    })
  }
  const [is, byCpu] = both((what) => of(300)[what] / of(100)[what])
  goals.push({
    name: 'total of N = 300 ÷ N = 100',
    is,
    byCpu,
    best: best(engine, 300, 'total') / best(engine, 100, 'total'),
    goal: 3,
    way: 'most',
  })
  for (const nodes of [10, 30, 100, 300]) {
    const [is, byCpu] = both((what) => paired(costs, parse, engine, nodes, what))
    goals.push({
      name: `N = ${nodes}, times as fast as parse, merge, stringify`,
      is,
      byCpu,
      best: best(parse, nodes, 'total') / best(engine, nodes, 'total'),
      goal: 5,
      way: 'least',
    })
  }
  const name = '64 MB, longest block, ms'
  goals.push({ name: `${name}: received and joined`, is: full.block, byCpu: full.received, goal: 20, way: 'most' })
  goals.push({ name: `${name}: joined alone, by CPU`, is: full.alone, goal: 20, way: 'most' })
  goals.push({ name: 'peak memory ÷ bytes received, any N', is: most, goal: 2, way: 'most' })
  return goals
}

function both<T>(of: (what: 'total' | 'cpu') => T): readonly [T, T] {
  return [of('total'), of('cpu')]
}
