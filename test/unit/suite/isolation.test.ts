import t from 'tap'
import { reasonForIsolation } from '../../support/suite/isolation.ts'

const CASES: readonly (readonly [code: string, reason: string | undefined])[] = [
  ["t.equal(process.env.HOME, '/root')", undefined],
  ["if (process.env.HOME === '/root') return", undefined],
  ["process.on('exit', () => child.kill())", undefined],
  ["process.env.HOME = '/'", 'changes the environment'],
  ['process.env[name] = value', 'changes the environment'],
  ['delete process.env.HOME', 'changes the environment'],
  ["process.chdir('/')", 'changes the process'],
  ['process.exitCode = 1', 'changes the process'],
  ["process.on('unhandledRejection', record)", 'listens to events of the process'],
  ["import { mock } from 'node:test'", 'replaces timers'],
  ["import { measureTurns } from '../../support/event-loop.ts'", 'measures turns of the event loop'],
  ['const { heapUsed } = process.memoryUsage()', 'measures the process'],
  ['const { user } = process.cpuUsage(before)', undefined],
  ['const files = Object.keys(createRequire(import.meta.url).cache)', 'sees which modules are loaded'],
  ['const { cache } = createRequire(import.meta.url)', 'sees which modules are loaded'],
  ["Object.assign(STORED_FIELDS[kind], { added: 'text' })", 'changes a constant of a module'],
  ["import { subscribe } from 'node:diagnostics_channel'", 'sees what other files do in the process'],
]

t.test('a file that uses the whole process has a process that it shares with no other', async (t) => {
  for (const [code, reason] of CASES) t.equal(reasonForIsolation(code), reason, code)
})
