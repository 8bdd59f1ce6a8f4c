/**
 * Runs the compiled test files in workers, long ones first (`npm test`). The proofs are a separate run (`npm run test:proofs`).
 * With `--random` or a seed the order is random (`npm run test:random`); the seed is printed, and repeats the order. `npx tap FILE`
 * runs single files without this.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { createRandom } from '../../faults/coherence/random.ts'
import { readOptions } from '../script-options.ts'
import { compileSuite } from './compile.ts'
import { reasonForIsolation } from './isolation.ts'
import { isProof, requireProofs } from './proofs.ts'
import { timesToRecord } from './report.ts'
import { startOrder, type TimesOfFiles } from './schedule.ts'
import { runSuite } from './suite.ts'
import { runBoth } from './than.ts'

/** The folder of compiled files. */
const COMPILED = '.tests'

/**
 * Tests and starting edges make much that is short-lived. With the default of 16 MB of V8, the garbage collector copies it
 * more often, which takes a tenth of the CPU time of the workers.
 */
const SEMI_SPACE_MB = 64

/** More of them shorten a run on two cores no further. Each worker takes up to a gigabyte of memory. */
const MAX_FILES = 8

/** Enough for sockets and processes on busy cores. */
const CLOSE_TIMEOUT_MS = 30_000
const TIMES_FILE = 'test/support/suite/times.json'

const { values, rest, refuse } = readOptions({
  name: 'test',
  purpose: 'Runs the tests (default: all but the proofs).',
  options: {
    proofs: { kind: 'flag', meaning: 'the proofs only' },
    all: { kind: 'flag', meaning: 'the proofs too, in one run' },
    jobs: { kind: 'number', meaning: `the most files at the same time (default: ${MAX_FILES})` },
    record: {
      kind: 'flag',
      meaning: 'write the times of the files, which determine when each starts; on an idle machine',
    },
    random: { kind: 'flag', meaning: 'in a random order' },
    seed: { kind: 'number', meaning: 'repeat the random order of an earlier run' },
    than: { kind: 'text', value: 'FOLDER', meaning: 'run the suite of another checkout first, and compare the times' },
  },
  rest: 'FOLDER OR FILE…',
})
if (values.than !== undefined) {
  const args = process.argv.slice(2)
  const others = args.filter((each, at) => !each.startsWith('--than') && args[at - 1] !== '--than')
  process.exit(await runBoth(values.than, others))
}
const isRandom = values.random === true || values.seed !== undefined
const { seed = Date.now() % 1_000_000 } = values
const paths = rest.length > 0 ? rest : ['test', 'packages']
const { timeout, 'test-env': environment } = parse(readFileSync('.taprc', 'utf8'))
const times: TimesOfFiles = JSON.parse(readFileSync(TIMES_FILE, 'utf8'))

const missing = paths.find((path) => !existsSync(path))
if (missing !== undefined) refuse(`there is no ${missing}`)
const found = paths.flatMap((path) =>
  path.endsWith('.ts')
    ? path
    : readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name)),
)
const sorted = found.filter((file) => file.endsWith('.test.ts') && !file.includes('.tap')).sort()
if (rest.length === 0) requireProofs(sorted)
const isChosen = (file: string) => rest.length > 0 || values.all === true || isProof(file) === (values.proofs === true)
const chosen = sorted.filter(isChosen)
const files = (isRandom ? shuffle(chosen) : startOrder(chosen, times)).map((name) => ({
  name,
  path: join(COMPILED, name.replace(/\.ts$/, '.js')),
  isAlone: reasonForIsolation(readFileSync(name, 'utf8')) !== undefined,
}))
console.log(`${compileSuite(COMPILED)} files compiled, ${files.length} of them are run`)
if (!existsSync('dist/commit'))
  console.log('there is no build: tests that start the edge or read its description fail; run `npm run build` first')
if (isRandom) console.log(`random order; repeat with: npm run test:random -- --seed ${[seed, ...rest].join(' ')}`)
const results = await runSuite({
  files,
  script: join(COMPILED, 'test/support/suite/worker.js'),
  execArgv: ['--enable-source-maps', `--max-semi-space-size=${SEMI_SPACE_MB}`],
  timeoutMs: timeout * 1000,
  closeTimeoutMs: CLOSE_TIMEOUT_MS,
  times,
  maxFiles: values.jobs ?? MAX_FILES,
  cores: availableParallelism(),
  env: { ...process.env, ...Object.fromEntries((environment as string[]).map((line) => line.split('='))) },
})
if (values.record === true) writeFileSync(TIMES_FILE, timesToRecord(results, times))

function shuffle(sorted: readonly string[]): string[] {
  const random = createRandom(seed)
  const drawn = sorted.map((name) => ({ name, draw: random.below(2 ** 31) }))
  return drawn.sort((a, b) => a.draw - b.draw).map(({ name }) => name)
}
