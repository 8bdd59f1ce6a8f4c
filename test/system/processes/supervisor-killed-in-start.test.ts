import { mkdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { program } from '../process/program.ts'
import { isRunning, linesOf, pidsOf, stage } from './processes.ts'

const { file, folder, write } = await stage(t)

t.test('if the supervisor is killed while a process starts, that process ends', async (t) => {
  // The lock of another process delays the start of process 1 until the test stops its renewal.
  const lock = join(folder, 'audit-1.jsonl.lock')
  mkdirSync(lock)
  const renew = () => utimesSync(lock, new Date(), new Date())
  const renewal = setInterval(renew, 200)
  t.teardown(() => clearInterval(renewal))
  write({ audit: { file: join(folder, 'audit.jsonl') } })
  const edge = program(t, ['start', '--config', file])
  await eventually(() => linesOf(edge, 'nodes discovered').some(({ process }) => process === 1))
  const pids = await pidsOf(edge)
  t.equal(linesOf(edge, 'process listening').filter(({ process }) => process === 1).length, 0)
  edge.child.kill('SIGKILL')
  clearInterval(renewal)
  await eventually(() => !pids.some(isRunning))
})
