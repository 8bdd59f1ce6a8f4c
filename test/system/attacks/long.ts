/**
 * All attack tests with their counts by class, and every kind of refused request against the built program on several
 * versions of Node (`npm run check:attacks`).
 */
import { execFileSync, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { programOf, versionsOf } from '../../support/node-versions.ts'
import { readOptions } from '../../support/script-options.ts'
import { checkRefusedRequests } from './refused.ts'

const { values, refuse } = readOptions({
  name: 'check:attacks',
  purpose: 'Runs all attack tests, and refused requests against the built program on each version of Node.',
  options: {
    node: { kind: 'text', value: 'VERSIONS', meaning: 'versions of Node, such as 20,22,24 (default: the running one)' },
    'only-refused': { kind: 'flag', meaning: 'only the refused requests' },
  },
})
const versions = versionsOf(values.node ?? process.versions.node, refuse)

const FILES = ['test/system/attacks', 'test/unit/listener', 'test/unit/http/framing']

let failures = 0
const row = (scope: string, kind: string, checked: number, failed: number): void => {
  failures += failed
  console.log(`${scope.padEnd(16)} ${kind.padEnd(44)} ${String(checked).padStart(6)} ${String(failed).padStart(6)}`)
}

console.log(`${'scope'.padEnd(16)} ${'class'.padEnd(44)} ${'checked'.padStart(6)} ${'failed'.padStart(6)}`)
if (!values['only-refused']) for (const file of testFiles()) await runFile(file)
for (const version of versions) {
  const executable = programOf(version)
  const actual = execFileSync(executable, ['--version'], { encoding: 'utf8' }).trim()
  const problems: string[] = []
  for (const [kind, { checked, failed }] of await checkRefusedRequests(executable)) {
    row(`Node ${actual}`, kind, checked, failed.length)
    problems.push(...failed)
  }
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`)
}
console.log(failures === 0 ? 'no row failed' : `${failures} rows failed`)
process.exit(failures === 0 ? 0 : 1)

function testFiles(): string[] {
  const files = FILES.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  return files.filter((file) => file.endsWith('.test.ts') && !file.endsWith('refused-requests.test.ts')).sort()
}

/** Runs a test file. Its class is its name, and its rows are its assertions. */
async function runFile(file: string): Promise<void> {
  const env = { ...process.env, TAP_TYPE_STRIP_ONLY: '1', TAP_TIMEOUT: '300' }
  const child = spawn(process.execPath, ['--import=./test/support/typescript/register.mjs', file], { env })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const [, total = '0'] = /^# \{ total: (\d+)/m.exec(output) ?? []
  const [, failed = '0'] = /^# \{ total: .*?fail: (\d+)/m.exec(output) ?? []
  row('tests', file.replace(/^test\/|\.test\.ts$/g, ''), Number(total), code === 0 ? 0 : Math.max(1, Number(failed)))
  if (code !== 0)
    for (const line of output.match(/^\s*not ok .*/gm)?.slice(0, 10) ?? []) console.log(`  ${line.trim()}`)
}
