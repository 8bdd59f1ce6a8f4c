/**
 * The standing fault suite (`npm run check:faults`). Prints one table and ends with 1 if a promise is broken or, with
 * `--planted`, if a planted defect was not found.
 */
import { type FaultPromise, type Figure, NotRun, runPromise } from './promise.ts'
import { promises } from './registry.ts'

const HELP = `npm run check:faults -- [options]
  --only R7,R9   these promises only
  --scale 0.2    factor of durations and counts (default 1)
  --rate 300     requests per second of the loads (default 300)
  --seed 1       seed of the random choices
  --planted      plant the defect of each promise: every promise must then have a figure that fails`

interface Row {
  readonly id: string
  readonly figure: string
  readonly value: string
  readonly limit: string
  readonly result: string
}

const args = process.argv.slice(2)
const option = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const known = new Set(promises.map(({ id }) => id))
const only = option('--only')?.toUpperCase().split(',')
const unknown = (only ?? []).filter((id) => !known.has(id))
if (unknown.length > 0) {
  console.error(`There is no promise ${unknown.join(', ')}; there are ${[...known].join(', ')}.`)
  process.exit(2)
}
const options = {
  scale: Number(option('--scale') ?? 1),
  rate: Number(option('--rate') ?? 300),
  seed: Number(option('--seed') ?? Date.now() % 1_000_000),
  planted: args.includes('--planted'),
}

interface Outcome {
  readonly rows: readonly Row[]
  readonly outcome: 'kept' | 'broken' | 'not run'
}

async function rowsOf(promise: FaultPromise): Promise<Outcome> {
  const { id, title } = promise
  console.error(`${id}: ${title}${options.planted ? ` – planted: ${promise.planted}` : ''}`)
  const row = (figure: string, value: string, limit: string, result: string) => ({ id, figure, value, limit, result })
  try {
    const figures = await runPromise(promise, options)
    const failed = figures.filter(({ pass }) => !pass)
    const rows = figures.map(({ name, value, limit, pass }: Figure) => row(name, value, limit, pass ? 'pass' : 'FAIL'))
    if (!options.planted) return { rows, outcome: failed.length === 0 ? 'kept' : 'broken' }
    const found = failed.map(({ name, value, limit }) => row(name, value, limit, 'found'))
    const missed = row(promise.planted, 'no figure failed', 'found', 'NOT FOUND')
    return failed.length > 0 ? { rows: found, outcome: 'kept' } : { rows: [missed], outcome: 'broken' }
  } catch (error) {
    if (error instanceof NotRun) return { rows: [row('not run', error.message, '', 'not run')], outcome: 'not run' }
    return { rows: [row('the check itself', String(error).slice(0, 300), 'ends', 'FAIL')], outcome: 'broken' }
  }
}

function print(rows: readonly Row[]): void {
  const columns = ['id', 'figure', 'value', 'limit', 'result'] as const
  const head: Row = { id: 'promise', figure: 'figure', value: 'value', limit: 'limit', result: 'pass' }
  const widths = columns.map((name) => Math.max(...[head, ...rows].map((row) => row[name].length)))
  const line = (row: Row) => `| ${columns.map((name, at) => row[name].padEnd(widths[at] ?? 0)).join(' | ')} |`
  console.log([line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n'))
}

console.log(`seed ${options.seed}, scale ${options.scale}, ${options.rate} requests per second`)
const results: Outcome[] = []
for (const promise of promises) {
  if (only !== undefined && !only.includes(promise.id)) continue
  results.push(await rowsOf(promise))
}
print(results.flatMap(({ rows }) => rows))
const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length
console.log(`${count('kept')} kept, ${count('broken')} broken, ${count('not run')} not run`)
process.exit(count('broken') === 0 ? 0 : 1)
