/**
 * The long coherence checks (`npm run check:coherence`): the whole model, then 50,000 operations without a violation,
 * then as many for each planted fault, each of which must cause one.
 * Optional arguments: operations, seed, what to run (a planted fault, `none`, `model`, or `all`), the only fault to inject
 * (or `every`), and seconds after which a run begins no further operation.
 */
import { explore } from './model.ts'
import { planted } from './planted.ts'
import { describe, run } from './run.ts'

const [operations = '50000', seed = String(Date.now() % 1_000_000), only = 'all', way = 'every', seconds = 'Infinity'] =
  process.argv.slice(2)
const size = { operations: Number(operations), seed: Number(seed), seconds: Number(seconds) }
const failed: string[] = []

function hold(what: string, right: boolean): void {
  console.log(`${right ? 'ok' : 'NOT OK'} – ${what}\n`)
  if (!right) failed.push(what)
}

function holdModel(): void {
  for (const search of [{ writers: 1, flush: true }, { writers: 2 }, { writers: 2, near: false, flush: true }]) {
    const { states, violation } = explore(search)
    if (violation !== undefined) console.log(violation.join('\n'))
    hold(`model ${JSON.stringify(search)}: ${states} states`, violation === undefined)
  }
}

async function holdProtocol(): Promise<void> {
  const report = await run({ ...size, chaos: way === 'every' || way })
  console.log(describe(report))
  for (const violation of report.violations.slice(0, 10)) console.log(JSON.stringify(violation))
  hold('no violation, under faults', report.violations.length === 0)
}

async function holdFault(fault: string): Promise<void> {
  const report = await run({ ...size, chaos: false, fault })
  console.log(describe(report))
  hold(`planted: ${fault}, found`, report.violations.length > 0)
}

console.log(`seed ${seed}`)
if (only === 'all' || only === 'none') await holdProtocol()
for (const fault of [...Object.keys(planted), 'no bypass']) {
  if (only === 'all' || only === fault) await holdFault(fault)
}
if (only === 'all' || only === 'model') holdModel()
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
