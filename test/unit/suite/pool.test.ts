/** The workers of the suite: what a file does wrong is a failure of this file, and of no other, and no process outlives the run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { eventually } from '../../support/eventually.ts'
import { redisBinary } from '../../support/redis.ts'
import { runningWith } from '../../support/suite/processes.ts'
import { runnableOf } from '../../support/typescript/script.ts'

const support = new URL('../../support/', import.meta.url)
const suite = runnableOf(new URL('suite/suite.ts', support))
const execArgv = suite.href.endsWith('.js')
  ? ['--enable-source-maps']
  : [`--import=${new URL('typescript/register.mjs', support)}`]

/** As in the suite, the environment has the limit of one file. It must not end the worker, which runs many. */
const WORKER_LIMIT_S = 1

/** A worker starts within the first on busy cores. */
const LIMITS = { timeoutMs: 12_000, closeTimeoutMs: 2000 }

type Files = Readonly<Record<string, readonly [code: string, ...shown: RegExp[]]>>

/** Each file runs in the order of these names, in one worker unless a file ends it, and shows this. */
const FILES: Files = {
  'passes.mjs': ["t.test('a', async (t) => t.ok(true))"],
  'passes-late.mjs': [
    `t.test('j', async (t) => {\n  await new Promise((resolve) => setTimeout(resolve, ${1.2 * WORKER_LIMIT_S * 1000}))\n  t.ok(true)\n})`,
  ],
  'fails.mjs': [
    "t.test('b', async (t) => {\n  t.equal(1, 2, 'one is two')\n})",
    /^not ok - fails\.mjs > b > one is two\n {4}at: .*fails\.mjs:3:5$/m,
    /source: [\s\S]*t\.equal\(1, 2, 'one is two'\)\n[\s\S]*diff: [\s\S]*-2\n +\+1$/m,
  ],
  'throws.mjs': [
    "throw new Error('while it is loaded')",
    /throws\.mjs > while it is loaded\n {4}at: .*throws\.mjs:2:7$/m,
  ],
  'throws-in-test.mjs': [
    "t.test('l', async () => {\n  throw new TypeError('in a test')\n})",
    /l > in a test\n {4}at: .*throws-in-test\.mjs:3:9$/m,
  ],
  'throws-later.mjs': [
    "t.test('c', async () => {\n  setTimeout(() => { throw new Error('later') }, 1)\n  await new Promise(() => {})\n})",
    /c > later\n {4}at: .*throws-later\.mjs:3:28$/m,
  ],
  'rejects.mjs': [
    "t.test('m', async () => {\n  void Promise.reject(new Error('not handled'))\n  await new Promise(() => {})\n})",
    /m > not handled\n {4}at: .*rejects\.mjs:3:23$/m,
  ],
  'leaves-server.mjs': [
    "import { createServer } from 'node:net'\nt.test('d', async (t) => {\n  createServer().listen(0)\n  t.ok(true)\n})",
    /^not ok - leaves-server\.mjs > left open TCPServerWrap$/m,
  ],
  'changes-environment.mjs': [
    "t.test('e', async (t) => {\n  process.env.CHANGED = '1'\n  t.ok(true)\n})",
    /^not ok - changes-environment\.mjs > left the variable CHANGED=1$/m,
  ],
  'ends-process.mjs': [
    "t.test('f', async (t) => {\n  t.equal(3, 4, 'before the end')\n  process.exit(0)\n})",
    /f > before the end$/m,
    /^not ok - ends-process\.mjs > f\n {4}message: the process ended with exit code 0$/m,
  ],
  'crashes.mjs': [
    "t.test('n', async () => void process.kill(process.pid, 'SIGSEGV'))",
    /n\n {4}message: the process ended by SIGSEGV$/m,
  ],
  'hangs.mjs': [
    "import { createServer } from 'node:net'\nt.teardown(() => server.close())\nconst server = createServer().listen(0)\nt.test('g', () => new Promise(() => {}))",
    /^not ok - hangs\.mjs > g\n {4}message: "no result for 12000 ms: the process ended by SIGKILL"$/m,
  ],
  'blocks.mjs': [
    "t.test('h', async () => {\n  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)\n})",
    /h\n {4}message: "no result for 12000 ms: the process ended by SIGKILL"$/m,
  ],
  'has-folder.mjs': ["t.test('k', async (t) => t.ok(true))\nt.match(t.testdirName, /has-folder/)"],
  'passes-at-end.mjs': [
    "t.test('i', async (t) => {\n  t.equal(process.env.CHANGED, undefined)\n  t.pass('after all others')\n})",
  ],
}

/** Starts a daemon, and a child process that keeps nothing open, and writes the ids of all processes to a file. */
const startsProcesses = (port: number) => `
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
const folder = new URL('.', import.meta.url).pathname
execFileSync('${redisBinary()}', ['--port', '${port}', '--pidfile', folder + 'pid', '--daemonize', 'yes', '--save', ''])
const child = spawn('sleep', ['1000'], { stdio: 'ignore', env: {}, detached: true })
child.unref()
let daemon = ''
while (daemon === '') daemon = await delay(10).then(() => readFileSync(folder + 'pid', 'utf8')).catch(() => '')
writeFileSync(folder + 'ids', [process.pid, child.pid, daemon].join(' '))
`

/** Runs files as the suite does, in a separate process. */
function startSuite(t: Test, files: Files, timeoutMs = LIMITS.timeoutMs) {
  const texts = Object.entries(files).map(([name, [code]]) => [
    name,
    `import tap from 'tap'; const t = tap.context.root ?? tap\n${code}\n`,
  ])
  const folder = t.testdir(Object.fromEntries(texts))
  const options = {
    files: Object.keys(files).map((name) => ({ path: join(folder, name), name, isAlone: false })),
    script: fileURLToPath(runnableOf(new URL('suite/worker.ts', support))),
    execArgv,
    ...LIMITS,
    timeoutMs,
    times: {},
    maxFiles: 1,
    cores: 1,
    env: { ...process.env, NODE_OPTIONS: '', TAP_TIMEOUT: String(WORKER_LIMIT_S) },
  }
  const script = `import { runSuite } from '${suite}'\nawait runSuite(${JSON.stringify(options)})`
  const child = spawn(process.execPath, [...execArgv, '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGTERM'))
  return { child, folder, report: text(child.stdout), ended: once(child, 'exit') }
}

/** Returns the ids of the processes that the file has started, and of its worker. */
function startedIn(folder: string): number[] {
  return readFileSync(join(folder, 'ids'), 'utf8').trim().split(' ').map(Number)
}

function runningOf(pids: readonly number[]): number[] {
  return runningWith('').flatMap(({ pid }) => (pids.includes(pid) ? pid : []))
}

t.test('each file has its own result, and shows what is wrong', { timeout: 240_000 }, async (t) => {
  const { report, ended } = startSuite(t, FILES)
  t.strictSame(await ended, [1, null])
  const sections = (await report).split(/^(?=ok|FAILED|The files)/m)
  for (const [name, [, ...shown]] of Object.entries(FILES)) {
    const section = sections.find((each) => each.split('\n')[0]?.endsWith(`  ${name}`)) ?? `no section ${name}`
    t.match(section, /^(passes|has)/.test(name) ? /^ok/ : /^FAILED/, name)
    for (const each of shown) t.match(section, each, name)
    t.notMatch(section, 'support/suite', `${name} shows nothing of the runner`)
  }
  t.match(await report, /^\d+ passed, 13 failed$/m)
})

t.test(
  'a process that a file leaves running is a failure with its command line, and ends',
  { timeout: 120_000 },
  async (t) => {
    const port = await freePort()
    const { folder, report, ended } = startSuite(t, { 'leaves.mjs': [`${startsProcesses(port)}\nt.pass('started')`] })
    t.strictSame(await ended, [1, null])
    t.match(
      await report,
      new RegExp(`^not ok - leaves\\.mjs > left a process running: .*redis-server .*:${port}$`, 'm'),
    )
    t.match(await report, /^not ok - leaves\.mjs > left a process running: sleep 1000$/m)
    await eventually(() => runningOf(startedIn(folder)).length === 0)
  },
)

t.test('the CPU time of a file has all processes that it started', { timeout: 120_000 }, async (t) => {
  const burn = 'while (process.cpuUsage().user < 6e5); console.log(process.cpuUsage().user); setTimeout(() => {}, 2500)'
  // A process that ends before its own child process, and so does not wait for it.
  const child = `require('node:child_process').spawn(process.execPath, ['-e', '${burn}'], { stdio: 'inherit' }).unref()`
  const code = `
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
t.test('burns', async (t) => {
  const ended = (resolve) => execFile(process.execPath, ['-e', ${JSON.stringify(child)}], (_, out) => resolve(out))
  writeFileSync(new URL('burnt', import.meta.url), await new Promise(ended))
  t.pass('ended')
})`
  const { folder, report, ended } = startSuite(
    t,
    { 'waits.mjs': ["t.pass('starts the worker')"], 'burns.mjs': [code] },
    60_000,
  )
  t.strictSame(await ended, [0, null], await report)
  const [, seconds] = /^ +(\S+) s in ok .* burns\.mjs$/m.exec(await report) ?? []
  const burnt = Number(readFileSync(join(folder, 'burnt'), 'utf8')) / 1e6
  t.ok(
    burnt >= 0.6 && Number(seconds) + 0.1 > burnt,
    `${seconds} s, ${burnt} of them in a process that nothing waits for`,
  )
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  t.test(`${signal} ends the run with one line, and leaves no process`, { timeout: 120_000 }, async (t) => {
    const { child, folder, report, ended } = startSuite(t, {
      'waits.mjs': [`${startsProcesses(await freePort())}\nt.test('waits', () => new Promise(() => {}))`],
    })
    await eventually(() => existsSync(join(folder, 'ids')) && startedIn(folder).length === 3)
    t.equal(runningOf(startedIn(folder)).length, 3)
    child.kill(signal)
    t.strictSame(await ended, [code, null])
    t.match(await report, new RegExp(`^${signal} ends the run and [3-9] processes\n$`))
    await eventually(() => runningOf(startedIn(folder)).length === 0)
  })
}
