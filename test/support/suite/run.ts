/**
 * Runs the compiled test files (`npm test`), long ones first (`schedule.ts`): those that can share a process in workers, the others each as
 * a process. The proofs are a run of their own (`npm run test:proofs`). With `--random` or a seed the order is random
 * (`npm run test:random`). The seed is printed, and repeats the order. `npx tap FILE` runs single files without this.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Base } from 'tap'
import { parse } from 'yaml'
import { createRandom } from '../../faults/coherence/random.ts'
import { readOptions } from '../script-options.ts'
import { compileSuite } from './compile.ts'
import { costsOf, timesToRecord } from './costs.ts'
import { reasonForIsolation } from './isolation.ts'
import { createPool, runAlone, runInPool } from './pool.ts'
import { isProof, requireProofs } from './proofs.ts'
import { createSchedule, startOrder, type TimesOfFiles } from './schedule.ts'

/** The folder of compiled files. */
const COMPILED = '.tests'

/**
 * Tests and starting edges make much that is short-lived. With the default of 16 MB of V8, the garbage collector copies it
 * more often, which takes a tenth of the CPU time of the workers.
 */
const SEMI_SPACE_MB = 64

/** With more, tests that wait for about a second fail by their limits. Each worker takes up to a gigabyte of memory. */
const MAX_FILES = 4
const TIMES_FILE = 'test/support/suite/times.json'

/** Enough for sockets and children on busy cores. */
const CLOSE_TIMEOUT_MS = 15_000

const { values, rest } = readOptions({
  name: 'test',
  purpose: 'Runs the test files of the folders (default: test and packages, without the proofs).',
  options: {
    proofs: { kind: 'flag', meaning: 'the proofs only' },
    jobs: { kind: 'number', meaning: `the most files at the same time (default: ${MAX_FILES})` },
    record: {
      kind: 'flag',
      meaning: 'write the times of the files, which determine when each starts; on an idle machine',
    },
    random: { kind: 'flag', meaning: 'in a random order' },
    seed: { kind: 'number', meaning: 'repeat the random order of an earlier run' },
  },
  rest: 'FOLDER…',
})
const isRandom = values.random === true || values.seed !== undefined
const { seed = Date.now() % 1_000_000 } = values
const folders = rest.length > 0 ? rest : ['test', 'packages']
const { timeout, 'test-env': environment } = parse(readFileSync('.taprc', 'utf8'))
const times: TimesOfFiles = JSON.parse(readFileSync(TIMES_FILE, 'utf8'))

const found = await Promise.all(
  folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
)
const sorted = found
  .flat()
  .filter((file) => file.endsWith('.test.ts') && !file.includes('.tap'))
  .sort()
if (rest.length === 0) requireProofs(sorted)
const chosen = rest.length > 0 ? sorted : sorted.filter((file) => isProof(file) === (values.proofs === true))
const files = isRandom ? shuffle(chosen) : startOrder(chosen, times)
t.comment(`${compileSuite(COMPILED)} files compiled, ${files.length} of them are run`)
if (isRandom) t.comment(`random order; repeat with: npm run test:random -- --seed ${[seed, ...rest].join(' ')}`)
// All files at once: each waits for the schedule.
t.jobs = files.length
const schedule = createSchedule({ times, maxFiles: values.jobs ?? MAX_FILES })
// Each file has its own time limit; the default limit of a tap program would end the whole run.
t.setTimeout(0)
// Each file reads its own limit from the environment, as when tap starts it.
const limits = { TAP_TIMEOUT: String(timeout) }
const browser = await startSharedBrowser()
const env = { ...Object.fromEntries((environment as string[]).map((line) => line.split('='))), ...limits, ...browser }
const pool = createPool(join(COMPILED, 'test/support/suite/worker.js'), {
  execArgv: ['--enable-source-maps', `--max-semi-space-size=${SEMI_SPACE_MB}`],
  env: withoutHooks({ ...process.env, ...env }),
})
t.teardown(pool.close)
const started: Base[] = []
const cpuSecondsOf = new Map<string, number>()
t.on('subtestAdd', (file: Base) => {
  started.push(file)
  // The comment of a file in a process of its own.
  file.parser.on('comment', (comment) => {
    const [, seconds] = /^# cpu=(.*)\n$/.exec(comment) ?? []
    if (seconds !== undefined) cpuSecondsOf.set(file.name, Number(seconds))
  })
})
// At this time all child processes have ended.
process.on('exit', () => {
  for (const line of costsOf(started, cpuSecondsOf)) console.log(`# ${line}`)
  if (values.record === true) writeFileSync(TIMES_FILE, timesToRecord(started, cpuSecondsOf, times))
})
const limitsOfFile = { timeoutMs: timeout * 1000, closeTimeoutMs: CLOSE_TIMEOUT_MS }
for (const file of files) {
  const path = join(COMPILED, file.replace(/\.ts$/, '.js'))
  if (reasonForIsolation(file) === undefined) {
    runInPool(t, pool, { path, name: file, ...limitsOfFile }, schedule, (seconds) => cpuSecondsOf.set(file, seconds))
  } else {
    const script = [join(COMPILED, 'test/support/suite/alone.js'), path]
    const args = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', ...script]
    const options = { timeout: timeout * 1000, env: { ...process.env, ...env } }
    runAlone(t, { ...options, name: file, command: 'env', args }, schedule)
  }
}

/** Returns the variable that names the browser, if a file uses one. */
async function startSharedBrowser(): Promise<Readonly<Record<string, string>>> {
  if (!files.some((file) => /\bstartBrowser\(\)/.test(readFileSync(file, 'utf8')))) return {}
  const { BROWSER_VARIABLE, startBrowserServer } = await import('../../system/console/browser.ts')
  const { address, close } = await startBrowserServer()
  t.teardown(close)
  return { [BROWSER_VARIABLE]: address }
}

/** tap sets NODE_OPTIONS to load hooks for coverage into all processes, which the suite does not measure. */
function withoutHooks({ NODE_OPTIONS: _, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env
}

/** Fisher-Yates. */
function shuffle(sorted: readonly string[]): string[] {
  const all = [...sorted]
  const random = createRandom(seed)
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1)
    ;[all[at], all[other]] = [all[other] ?? '', all[at] ?? '']
  }
  return all
}
