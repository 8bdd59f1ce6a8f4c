/**
 * The standing fault suite (`npm run check:faults`). Prints one table and ends with 1 if a promise is broken or, with
 * `--planted`, if a planted defect was not found; with 2 if a promise could not be checked on this machine.
 */
import { readOptions } from '../../support/script-options.ts'
import { type FaultPromise, type Figure, NotRun, runPromise } from './promise.ts'
import { promises } from './registry.ts'

interface Row {
  readonly id: string
  readonly figure: string
  readonly value: string
  readonly limit: string
  readonly result: string
}

const { values, refuse } = readOptions({
  name: 'check:faults',
  purpose: 'Checks every promise under faults, and prints one table.',
  options: {
    only: { kind: 'text', value: 'R7,R9', meaning: 'check these promises only' },
    scale: { kind: 'number', value: 'FACTOR', meaning: 'factor of durations and counts (default 1)' },
    rate: { kind: 'number', meaning: 'requests per second of the loads (default 300)' },
    seed: { kind: 'number', meaning: 'seed of the random choices' },
    planted: {
      kind: 'flag',
      meaning: 'plant the defect of each promise: every promise must then have a failed figure',
    },
  },
})
const known = new Set(promises.map(({ id }) => id))
const only = values.only?.toUpperCase().split(',')
const unknown = (only ?? []).filter((id) => !known.has(id))
if (unknown.length > 0)
  refuse(`${unknown.join(', ')} is not checked here, see test/README.md; here are ${[...known].join(', ')}`)
const { scale = 1, rate = 300, seed = Date.now() % 1_000_000, planted } = values
const options = { scale, rate, seed, planted }

interface Outcome {
  readonly rows: readonly Row[]
  readonly outcome: 'passed' | 'failed' | 'not run'
}

async function rowsOf(promise: FaultPromise): Promise<Outcome> {
  const { id, title } = promise
  console.error(`${id}: ${title}${options.planted ? ` – planted: ${promise.planted}` : ''}`)
  const row = (figure: string, value: string, limit: string, result: string) => ({ id, figure, value, limit, result })
  try {
    const figures = await runPromise(promise, options)
    const failed = figures.filter(({ pass }) => !pass)
    const result = ({ pass, kind }: Figure) => (pass ? 'pass' : kind === 'machine' ? 'not run' : 'FAIL')
    const rows = figures.map((each) => row(each.name, each.value, each.limit, result(each)))
    const isStarved = failed.length > 0 && failed.every(({ kind }) => kind === 'machine')
    if (!options.planted) return { rows, outcome: isStarved ? 'not run' : failed.length === 0 ? 'passed' : 'failed' }
    const found = failed.map(({ name, value, limit }) => row(name, value, limit, 'found'))
    const missed = row(promise.planted, 'no figure failed', 'found', 'NOT FOUND')
    return failed.length > 0 ? { rows: found, outcome: 'passed' } : { rows: [missed], outcome: 'failed' }
  } catch (error) {
    if (error instanceof NotRun) return { rows: [row('not run', error.message, '', 'not run')], outcome: 'not run' }
    return { rows: [row('the check itself', String(error).slice(0, 300), 'ends', 'FAIL')], outcome: 'failed' }
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
const began = performance.now()
const minutes = () => ((performance.now() - began) / 60_000).toFixed(1)
const results = new Map<FaultPromise, Outcome>()
/** Prints the figures of a promise when they are known, in case the run is ended early. */
const report = (promise: FaultPromise): void => {
  const { rows = [], outcome } = results.get(promise) ?? {}
  for (const { figure, value, limit, result } of rows) console.error(`  ${result}: ${figure}: ${value} (${limit})`)
  console.error(`  ${outcome}, ${minutes()} minutes since the start`)
}
const chosen = promises.filter(({ id }) => only === undefined || only.includes(id))
for (const promise of chosen) {
  results.set(promise, await rowsOf(promise))
  report(promise)
}
// The machine may be less busy now.
for (const promise of chosen) {
  if (results.get(promise)?.outcome !== 'not run') continue
  results.set(promise, await rowsOf(promise))
  report(promise)
}
const outcomes = [...results.values()]
print(outcomes.flatMap(({ rows }) => rows))
const count = (outcome: string) => outcomes.filter((each) => each.outcome === outcome).length
const [passed, failed, notRun] = [count('passed'), count('failed'), count('not run')]
console.log(`${passed} promises passed, ${failed} failed, ${notRun} not run, in ${minutes()} minutes`)
process.exit(failed > 0 ? 1 : notRun > 0 ? 2 : 0)
