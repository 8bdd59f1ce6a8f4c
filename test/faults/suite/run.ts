/**
 * The standing fault suite (`npm run check:faults`). Prints one table and ends with 1 if a promise is broken or, with
 * `--planted`, if a planted defect was not found.
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
if (unknown.length > 0) refuse(`there is no promise ${unknown.join(', ')}; there are ${[...known].join(', ')}`)
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
    const rows = figures.map(({ name, value, limit, pass }: Figure) => row(name, value, limit, pass ? 'pass' : 'FAIL'))
    if (!options.planted) return { rows, outcome: failed.length === 0 ? 'passed' : 'failed' }
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
const results: Outcome[] = []
for (const promise of promises) {
  if (only !== undefined && !only.includes(promise.id)) continue
  results.push(await rowsOf(promise))
}
print(results.flatMap(({ rows }) => rows))
const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length
console.log(`${count('passed')} promises passed, ${count('failed')} failed, ${count('not run')} not run`)
process.exit(count('failed') === 0 ? 0 : 1)
