/**
 * Runs the test files in a random order: `npm run test:random -- [SEED] [FOLDER…]`. The seed is printed, and repeats
 * the order. tap itself sorts the files, or shuffles them without a seed.
 */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createRandom } from '../faults/coherence/random.ts'

const [first = '', ...rest] = process.argv.slice(2)
const hasSeed = /^\d+$/.test(first)
const seed = hasSeed ? Number(first) : Date.now() % 1_000_000
const given = hasSeed ? rest : [first, ...rest].filter((folder) => folder !== '')
const folders = given.length > 0 ? given : ['test']
const { timeout, jobs, 'node-arg': nodeArguments, 'test-env': environment } = parse(readFileSync('.taprc', 'utf8'))

const found = await Promise.all(
  folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
)
const files = shuffle(
  found
    .flat()
    .filter((file) => file.endsWith('.test.ts') && !file.includes('.tap'))
    .sort(),
)
t.comment(`${files.length} files in random order; repeat with: npm run test:random -- ${[seed, ...given].join(' ')}`)
t.jobs = jobs
// Each file has a limit of its own; the default limit of a tap program would end the whole run.
t.setTimeout(0)
// Each file reads its own limit from the environment, as when tap starts it.
const limits = { TAP_TIMEOUT: String(timeout) }
const env = { ...Object.fromEntries((environment as string[]).map((line) => line.split('='))), ...limits }
for (const file of files) {
  const options = { buffered: true, timeout: timeout * 1000, env: { ...process.env, ...env } }
  t.spawn(process.execPath, [...nodeArguments, file], options, file)
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
