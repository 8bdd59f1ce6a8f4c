import { createServer } from 'node:net'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { program, result } from '../process/program.ts'
import { isRunning, pidsOf, stage, start } from './processes.ts'

const { file, write } = await stage(t)

t.test('wrong settings are reported once, with the exit code of a single process', async (t) => {
  write({ listen: { processes: 'all' }, log: { level: 'loud' } })
  const { code, out, err } = await result(t, ['start', '--config', file])
  t.strictSame([code, out], [2, ''])
  t.equal(err.trim().split('\n').length, 2, err)
  t.match(err, /listen\.processes: must be auto, or an integer from 1 to 64, got "all"/)
})

t.test('a port in use is reported once, with the exit code of a single process', async (t) => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  write({ listen: { port } })
  const { code, err } = await result(t, ['start', '--config', file])
  t.equal(code, 1)
  t.match(err, /^manager-edge cannot start: listen\.port: 127\.0\.0\.1:\d+ is in use; [^\n]+\n$/)
})

t.test('the command for one of the processes does not start by hand', async (t) => {
  const options = ['--number', '1', '--edge', 'x', '--processes', '2', '--config', file]
  const { code, err } = await result(t, ['process', ...options])
  t.equal(code, 1)
  t.match(err, /this command is for "manager-edge start" only/)
})

t.test('if the supervisor is killed, its processes end', async (t) => {
  write()
  const edge = await start(t, file)
  const pids = await pidsOf(edge)
  edge.child.kill('SIGKILL')
  await edge.ended
  await eventually(() => !pids.some(isRunning))
})

t.test('SIGTERM during the start ends all processes with exit code 0', async (t) => {
  write()
  const edge = program(t, ['start', '--config', file])
  await eventually(async () => (await pidsOf(edge).catch(() => [])).filter((pid) => pid > 0).length === 2)
  const pids = await pidsOf(edge)
  edge.child.kill('SIGTERM')
  const { code, err } = await edge.ended
  t.strictSame([code, err], [0, ''])
  t.notOk(pids.some(isRunning))
})
