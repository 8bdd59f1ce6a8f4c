/**
 * Measures how costs grow (`npm run bench:growth`): CPU time per hit with stored responses, connections and users, and
 * what replicas cost Redis and each other. Every response is verified. Prints the law of each row, and exits with 1 if a law
 * does not hold.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readOptions } from '../support/script-options.ts'
import { measureConnections } from './growth/connections.ts'
import { startOrigin } from './growth/edge.ts'
import { measureEntries } from './growth/entries.ts'
import type { Plan } from './growth/measurements.ts'
import { measureReplicas } from './growth/replicas.ts'
import { measureUsers } from './growth/users.ts'

const measurements: Readonly<Record<string, (plan: Plan) => Promise<boolean>>> = {
  entries: measureEntries,
  connections: measureConnections,
  users: measureUsers,
  replicas: measureReplicas,
}

const { values, refuse } = readOptions({
  name: 'bench:growth',
  purpose: 'Measures how costs grow with stored responses, connections, users and replicas.',
  options: {
    only: { kind: 'text', value: Object.keys(measurements).join('|'), meaning: 'one measurement' },
    quick: { kind: 'flag', meaning: 'fewer and smaller rows for a shorter time' },
    rounds: { kind: 'number', meaning: 'rounds of each series of hits, of which the median counts (default 5)' },
  },
})
const { only, quick, rounds = quick ? 3 : 5 } = values
if (only !== undefined && measurements[only] === undefined)
  refuse(`--only needs one of ${Object.keys(measurements).join(', ')}, got "${only}"`)

const folder = await mkdtemp(join(tmpdir(), 'edge-growth-'))
const origin = await startOrigin()
let allHold = true
try {
  for (const [name, measure] of Object.entries(measurements)) {
    if (only !== undefined && only !== name) continue
    const begin = performance.now()
    console.log(`\n## ${name}`)
    const duration = { rounds, ms: quick ? 700 : 1500 }
    const holds = await measure({
      folder,
      origin: origin.url,
      quick,
      duration,
      say: (text) => console.log(text),
    })
    allHold &&= holds
    console.log(`  ${((performance.now() - begin) / 1000).toFixed(0)} s in all`)
  }
} finally {
  await origin.stop()
  await rm(folder, { recursive: true, force: true })
}
console.log(allHold ? '\nall laws hold' : '\na law does not hold')
process.exitCode = allHold ? 0 : 1
