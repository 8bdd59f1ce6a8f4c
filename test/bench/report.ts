/** Prints the table of a benchmark of hits, and which goals are reached. */
import { type Case, EDGE, EDGE_OFF, EDGE_SMALL, HTTP_PROXY, type Kind, kinds, MISSES, NODE, NODE_TLS } from './cases.ts'
import type { Sample } from './load.ts'

type Say = (text: string) => void
/** One sample per round for each case, in the order in which they were measured. */
export type Samples = ReadonlyMap<Case, readonly Sample[]>
/** The samples of a row of a kind, one per round. */
type Find = (kind: Kind, row: string) => readonly Sample[] | undefined

/** Prints each row with medians. The ratios are those of the same round: above 1, the row is better than bare Node. */
export function printTable(samples: Samples, say: Say): void {
  const find = finder(samples)
  say('\nmedians: µs of CPU time per request · bare ÷ this row (quartiles) · requests/s · this row ÷ bare')
  say(`of misses, bare is ${HTTP_PROXY}`)
  for (const [kind, request] of Object.entries(kinds) as [Kind, string][]) {
    const rows = [...samples].filter(([each]) => each.kind === kind)
    if (rows.length > 0) say(`\n${kind} (${request})`)
    for (const [{ row }, taken] of rows) {
      const bare = find(kind, kind === 'miss' ? HTTP_PROXY : NODE)
      const ratio = bare ? ` · ${spread(ratios(cpu(bare), cpu(taken)))}` : ''
      const rates = bare ? ` · ${median(ratios(rate(taken), rate(bare))).toFixed(2)}` : ''
      say(
        `  ${row.padEnd(22)}${round(median(cpu(taken))).padStart(6)}${ratio} · ${round(median(rate(taken)))}/s${rates}`,
      )
    }
  }
}

interface Goal {
  readonly name: string
  /** The figure of each round; `undefined`: not measured. `of` takes CPU time or the inverse of the rate. */
  figures(find: Find, of: (samples: readonly Sample[]) => number[]): number[] | undefined
  readonly least?: number
  readonly most?: number
  readonly unit?: string
}

/** How many times `row` is as good as `over` in the same rounds of a kind. */
const ratio = (name: string, kind: Kind, row: string, over: string, least: number): Goal => ({
  name,
  least,
  figures: (find, of) => {
    const [one, other] = [find(kind, row), find(kind, over)]
    return one && other && ratios(of(other), of(one))
  },
})

/** How many times the CPU time of the baseline a miss may cost. */
const missGoal = (row: string, most: number): Goal => ({
  name: `a miss of ${row}, to ${HTTP_PROXY}`,
  most,
  unit: ' ×',
  figures: (find, of) => {
    const [one, other] = [find('miss', row), find('miss', HTTP_PROXY)]
    return one && other && ratios(of(one), of(other))
  },
})

export const goals: readonly Goal[] = [
  ratio('real, to node:http', 'real', EDGE, NODE, 0.8),
  ratio('wide, to node:http', 'wide', EDGE, NODE, 0.75),
  ratio('real, to nginx with apr1 passwords', 'real', EDGE, 'nginx, apr1', 3),
  ratio('small, to node:http', 'small', EDGE, NODE, 0.75),
  ratio('medium, to node:http', 'medium', EDGE, NODE, 0.8),
  ratio('large, to node:http', 'large', EDGE, NODE, 0.92),
  ratio('small with Bearer, to node:http', 'Bearer', EDGE, NODE, 0.75),
  ratio('304, to the small hit', 'not modified', EDGE, EDGE_SMALL, 1),
  {
    name: 'what TLS adds to a small hit, less what it adds to bare Node',
    most: 3,
    unit: ' µs',
    figures: (find, of) => {
      const [tls, plain, bareTls, bare] = [EDGE, EDGE_SMALL, NODE_TLS, NODE].map((row) => find('tls', row))
      if (!tls || !plain || !bareTls || !bare) return undefined
      return differences(differences(of(tls), of(plain)), differences(of(bareTls), of(bare)))
    },
  },
  ratio('304, to the small hit of node:http', 'not modified', EDGE, NODE, 0.75),
  ratio('log, metrics and audit on, to all off', 'off', EDGE_SMALL, EDGE_OFF, 0.85),
  ratio('small, to nginx without passwords', 'small', EDGE, 'nginx', 1),
  ratio('medium, to nginx without passwords', 'medium', EDGE, 'nginx', 0.85),
  ratio('large, to nginx without passwords', 'large', EDGE, 'nginx', 1.8),
  ratio('small, to nginx with bcrypt', 'bcrypt', EDGE_SMALL, 'nginx', 1000),
  ratio('small, to Express with apicache', 'small', EDGE, 'Express, apicache', 45),
  ratio('medium, to Express with apicache', 'medium', EDGE, 'Express, apicache', 45),
  ratio('large, to Express with apicache', 'large', EDGE, 'Express, apicache', 15),
  ratio('gzip, to nginx with gzip 1', 'gzip', EDGE, 'nginx, gzip 1', 100),
  missGoal(MISSES.off, 2),
  missGoal(MISSES.memory, 3),
  missGoal(MISSES.redis, 4),
]

export function printGoals(samples: Samples, say: Say): void {
  const find = finder(samples)
  say('\ngoals, by CPU time per request (by rate)')
  for (const { name, figures, least, most, unit = '' } of goals) {
    const limit = least === undefined ? `≤ ${most}${unit}` : `≥ ${least}${unit}`
    const byCpu = figures(find, cpu)
    if (byCpu === undefined) {
      say(`  not measured  ${name}: ${limit}`)
      continue
    }
    const byRate = figures(find, (taken) => rate(taken).map((each) => 1e6 / each))
    const found = median(byCpu)
    const isReached = least === undefined ? found <= (most ?? 0) : found >= least
    const rates = byRate ? ` (${round(median(byRate))}${unit})` : ''
    say(`  ${isReached ? 'reached     ' : 'not reached '}  ${name}: ${spread(byCpu)}${unit}${rates}, goal ${limit}`)
  }
}

function finder(samples: Samples): Find {
  return (kind, row) => {
    for (const [each, taken] of samples) if (each.kind === kind && each.row === row) return taken
    return undefined
  }
}

const cpu = (samples: readonly Sample[]): number[] => samples.map((each) => each.cpu)
const rate = (samples: readonly Sample[]): number[] => samples.map((each) => each.rate)
const ratios = (ones: readonly number[], others: readonly number[]): number[] =>
  ones.map((one, turn) => one / (others[turn] ?? Number.NaN))
const differences = (ones: readonly number[], others: readonly number[]): number[] =>
  ones.map((one, turn) => one - (others[turn] ?? Number.NaN))

function spread(figures: readonly number[]): string {
  const [middle, lower, upper] = [median(figures), median(figures, 0.25), median(figures, 0.75)]
  return `${middle.toFixed(2)} (${lower.toFixed(2)}–${upper.toFixed(2)})`
}

export function round(number: number): string {
  return Math.abs(number) >= 100 ? String(Math.round(number)) : number.toPrecision(Math.abs(number) >= 10 ? 3 : 2)
}

/** Returns a quantile; 0.5 is the median. Between two figures, returns their weighted mean. */
export function median(figures: readonly number[], at = 0.5): number {
  const sorted = [...figures].sort((one, other) => one - other)
  const place = (sorted.length - 1) * at
  const [lower = 0, upper = lower] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
  return lower + (upper - lower) * (place % 1)
}
