/**
 * Prints what the limit of calls in flight makes of managers of known speed, beside fixed limits (`npm run bench:limits`).
 * Fails if the rule gives fewer answers per second than 0.95 of the best fixed limit in a row, or its clients wait for
 * more than 1.2 times as long. All times are virtual.
 */
import { readOptions } from '../support/script-options.ts'
import { compare, FIXED_LIMITS, type Outcome, ROWS } from '../unit/upstream/limit-rows.ts'

readOptions({
  name: 'bench:limits',
  purpose: 'Compares the limit of calls in flight with fixed limits, on managers of known speed, in virtual time.',
  options: {},
})

const format = ({ rate, wait }: Outcome) => `${rate.toFixed(2)} ${(wait / 1000).toFixed(2)}`.padEnd(12)
const head = [...FIXED_LIMITS.map((limit) => `fixed ${limit}`), 'rule'].map((name) => name.padEnd(12)).join('  ')
console.log('16 clients, timeout 20 s; answers per second, and seconds until an answer')
console.log(`${'manager'.padEnd(22)}${head}`)
let failed = 0
for (const row of ROWS) {
  const { kind, time, workers } = row
  const { fixed, rule, passes } = await compare(row)
  if (!passes) failed += 1
  const columns = [...fixed, rule].map(format).join('  ')
  console.log(`${`${kind} ${time / 1000} s × ${workers}`.padEnd(22)}${columns}${passes ? '' : 'FAILS'}`)
}
console.log(`${ROWS.length - failed} of ${ROWS.length} rows pass`)
process.exitCode = failed === 0 ? 0 : 1
