/**
 * Checks a change in about half a minute on an idle machine (`npm run quick -- FILES`): types, lint of the changed files, and
 * the unit tests that are nearest to them in the graph of imports, by turns of the rooms. The suite checks the rest.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { readOptions } from './script-options.ts'

/** More test files would take longer than half a minute on two cores. */
const MAX_TESTS = 8
const SOURCE = /\.tsx?$/
const UNIT_TEST = /^(?:test\/unit|packages\/[\w-]+\/test)\/.*\.test\.ts$/

const { values, rest, refuse } = readOptions({
  name: 'quick',
  purpose: 'Checks types, lints the changed files and runs the nearest unit tests, in about half a minute.',
  options: {
    list: { kind: 'flag', meaning: 'print the tests instead of running them' },
    tests: { kind: 'number', meaning: `test files at most (default ${MAX_TESTS})` },
  },
  rest: '[FILES, default: those that git shows as changed]',
})

/** Returns the files that import each file, directly. */
function importersOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>()
  for (const file of files) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path))
      importers.set(imported, [...(importers.get(imported) ?? []), file])
    }
  }
  return importers
}

/** The folder below `src` or `test/unit` (of `pipeline.ts`: its name), or the package; `undefined`: neither. */
function roomOf(file: string): string | undefined {
  return /^(?:(?:src|test\/unit)\/([\w-]+)|(packages\/[\w-]+))/.exec(file)?.slice(1).find(Boolean)
}

/** Returns the tests by turns: the nearest one of each room of the changed files, then the next one of each. */
function testsInTurns(changed: readonly string[], importers: ReadonlyMap<string, readonly string[]>): string[] {
  const rooms = [...new Set(changed.map(roomOf))]
  const lists = rooms.map((room) =>
    nearestTests(
      room,
      changed.filter((file) => roomOf(file) === room),
      importers,
    ),
  )
  const longest = Math.max(...lists.map(({ length }) => length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((tests) => tests.slice(turn, turn + 1)))
  return [...new Set(turns.flat())]
}

/** Imports by which tests of the room count as nearer: few others come before them. */
const NEARER_IN_ROOM = 2

/** Returns the unit tests that reach a changed file of the room by imports: changed ones first, then the nearest ones. */
function nearestTests(
  room: string | undefined,
  changed: readonly string[],
  importers: ReadonlyMap<string, readonly string[]>,
): string[] {
  const ways = new Map(changed.map((file) => [file, 0]))
  // Iteration visits what is added meanwhile, so nearer files come first.
  for (const [file, way] of ways) {
    for (const importer of importers.get(file) ?? []) if (!ways.has(importer)) ways.set(importer, way + 1)
  }
  const lengthOf = ([file, way]: readonly [string, number]) =>
    way === 0 ? Number.NEGATIVE_INFINITY : way - (roomOf(file) === room ? NEARER_IN_ROOM : 0)
  const tests = [...ways].filter(([file]) => UNIT_TEST.test(file))
  return tests.sort((a, b) => lengthOf(a) - lengthOf(b)).map(([file]) => file)
}

function changedFiles(): readonly string[] {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\n')
  return [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')]
}

function sourceFiles(): readonly string[] {
  return ['src', 'test', 'packages'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => SOURCE.test(path))
      .map((path) => join(folder, path)),
  )
}

/** Runs a command and returns whether it succeeded. Its output is printed if it fails. */
function run(name: string, command: string, args: readonly string[]): Promise<boolean> {
  const start = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk))
  return new Promise((resolve) => {
    child.on('close', (code) => {
      console.log(`${code === 0 ? 'ok' : 'FAILED'}  ${name} (${((performance.now() - start) / 1000).toFixed(0)} s)`)
      if (code !== 0) process.stdout.write(Buffer.concat(output))
      resolve(code === 0)
    })
  })
}

const named = rest.length > 0 ? rest : changedFiles()
const changed = named.map((path) => normalize(path)).filter((path) => path !== '.')
const missing = rest.find((path) => !existsSync(path))
if (missing !== undefined) refuse(`there is no file ${missing}`)
if (changed.length === 0) refuse('no file is changed; name the files')
const existing = changed.filter((path) => existsSync(path))
const tests = testsInTurns(changed, importersOf(sourceFiles())).slice(0, values.tests ?? MAX_TESTS)
const colors = process.stdout.isTTY ? [] : ['--colors=off']
if (values.list) console.log(tests.join('\n'))
else {
  // Tests of the reference and of the commands read what the build writes.
  if (!existsSync('dist')) await run('build', 'npm', ['run', 'build'])
  const runs = [
    run('types', 'npx', [
      'tsc',
      '--noEmit',
      '--incremental',
      '--tsBuildInfoFile',
      'node_modules/.cache/quick.tsbuildinfo',
    ]),
    ...(existing.length > 0
      ? [run('lint', 'npx', ['biome', 'ci', '--no-errors-on-unmatched', ...colors, ...existing])]
      : []),
    ...(tests.length > 0 ? [run(`tests: ${tests.join(' ')}`, 'npx', ['tap', '--reporter=terse', ...tests])] : []),
  ]
  if (tests.length === 0) console.log('no unit test imports these files')
  process.exitCode = (await Promise.all(runs)).every(Boolean) ? 0 : 1
}
