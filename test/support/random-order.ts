/**
 * Runs the test files in a random order (`npm run test:random`). The seed is printed, and repeats the order. tap itself
 * sorts the files, or shuffles them without a seed.
 */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createRandom } from '../faults/coherence/random.ts'
import { readOptions } from './script-options.ts'

const { values, rest } = readOptions({
  name: 'test:random',
  purpose: 'Runs the test files of the folders (default: test) in a random order.',
  options: { seed: { kind: 'number', meaning: 'repeat the order of an earlier run' } },
  rest: 'FOLDER…',
})
const { seed = Date.now() % 1_000_000 } = values
const folders = rest.length > 0 ? rest : ['test']
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
t.comment(
  `${files.length} files in random order; repeat with: npm run test:random -- --seed ${[seed, ...rest].join(' ')}`,
)
t.jobs = jobs
// Each file has its own time limit; the default limit of a tap program would end the whole run.
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
