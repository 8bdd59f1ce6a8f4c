/** The workers of the suite: what a file does wrong is a failure of this file, and of no other. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { Test } from 'tap'
import { createPool, runInPool } from '../../support/suite/pool.ts'
import { createSchedule } from '../../support/suite/schedule.ts'
import { runnableOf } from '../../support/typescript/script.ts'

const support = new URL('../../support/', import.meta.url)
const worker = runnableOf(new URL('suite/worker.ts', support))
const root = runnableOf(new URL('suite/root.ts', support))
const isCompiled = worker.href.endsWith('.js')
const execArgv = isCompiled ? ['--enable-source-maps'] : [`--import=${new URL('typescript/register.mjs', support)}`]

/** A worker starts within twice the second limit. */
const LIMITS = { timeoutMs: 2000, closeTimeoutMs: 4000 }

/** As in the suite, the environment has the limit of one file. It must not end the worker, which runs many. */
const WORKER_LIMIT_S = 1

/** Each file runs in the order of these names, in one worker unless a file ends it. */
const FILES: Readonly<Record<string, string>> = {
  'passes.mjs': "t.test('a', async (t) => t.ok(true))",
  'passes-late.mjs': `t.test('j', async (t) => {\n  await new Promise((resolve) => setTimeout(resolve, ${1.2 * WORKER_LIMIT_S * 1000}))\n  t.ok(true)\n})`,
  'fails.mjs': "t.test('b', async (t) => {\n  t.equal(1, 2, 'one is two')\n})",
  'throws.mjs': "throw new Error('while it is loaded')",
  'throws-later.mjs':
    "t.test('c', async () => {\n  setTimeout(() => { throw new Error('later') }, 1)\n  await new Promise(() => {})\n})",
  'leaves-server.mjs':
    "import { createServer } from 'node:net'\nt.test('d', async (t) => {\n  createServer().listen(0)\n  t.ok(true)\n})",
  'changes-environment.mjs': "t.test('e', async (t) => {\n  process.env.CHANGED = '1'\n  t.ok(true)\n})",
  'ends-process.mjs': "t.test('f', async () => process.exit(0))",
  'hangs.mjs':
    "import { createServer } from 'node:net'\nt.teardown(() => server.close())\nconst server = createServer().listen(0)\nt.test('g', () => new Promise(() => {}))",
  'blocks.mjs': "t.test('h', async () => {\n  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)\n})",
  'has-folder.mjs': "t.test('k', async (t) => t.ok(true))\nt.match(t.testdirName, /has-folder/)",
  'passes-at-end.mjs':
    "t.test('i', async (t) => {\n  t.equal(process.env.CHANGED, undefined)\n  t.pass('after all others')\n})",
}

t.test('each file has its own result', { timeout: 120_000 }, async (t) => {
  const folder = t.testdir(
    Object.fromEntries(
      Object.entries(FILES).map(([name, code]) => [name, `import { root as t } from '${root}?${name}.ts'\n${code}\n`]),
    ),
  )
  const env = { ...process.env, NODE_OPTIONS: '', TAP_TIMEOUT: String(WORKER_LIMIT_S) }
  const pool = createPool(fileURLToPath(worker), { execArgv, env })
  t.teardown(pool.close)
  const suite: Test = new Test({ name: 'suite', timeout: 0 } as ConstructorParameters<typeof Test>[0])
  let report = ''
  suite.on('data', (text: string) => {
    report += text
  })
  const ended = new Promise<void>((resolve) => suite.on('end', () => resolve()))
  suite.runMain(() => {})
  const schedule = createSchedule({ times: {}, maxFiles: 1 })
  for (const name of Object.keys(FILES)) runInPool(suite, pool, { path: join(folder, name), name, ...LIMITS }, schedule)
  suite.end()
  await ended
  const sections = new Map(report.split(/^# Subtest: /m).map((text) => [text.split('\n')[0] ?? '', text]))
  const sectionOf = (name: string) => sections.get(name) ?? `no section ${name} in ${report}`
  for (const name of Object.keys(FILES)) {
    const isOk = /^(passes|has)/.test(name)
    t.match(
      sectionOf(name),
      new RegExp(`^${isOk ? 'ok' : 'not ok'} \\d+ - ${name}`, 'm'),
      `${name} ${isOk ? 'passes' : 'fails'}`,
    )
  }
  t.match(sectionOf('passes.mjs'), /^ {8}ok 1 - /m)
  t.match(
    sectionOf('fails.mjs'),
    /not ok 1 - one is two[\s\S]*fails\.mjs[\s\S]*lineNumber: 3/,
    'names the file and the line',
  )
  t.match(sectionOf('throws.mjs'), 'while it is loaded')
  t.match(sectionOf('throws-later.mjs'), /not ok \d+ - later/)
  t.match(sectionOf('leaves-server.mjs'), /leftovers:\s+- open TCPServerWrap/)
  t.match(sectionOf('changes-environment.mjs'), /leftovers:[\s\S]*changed environment of the process/)
  t.match(sectionOf('ends-process.mjs'), /exit: 0/)
  t.match(sectionOf('hangs.mjs'), /not ok \d+ - timeout!/)
  t.match(sectionOf('blocks.mjs'), /exit: SIGKILL/)
})
