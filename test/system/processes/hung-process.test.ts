import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { isRunning, linesOf, pidOf, pidsOf, sampleOf, send, stage, start } from './processes.ts'

const { file, write } = await stage(t)
const edge = await start(t, file)
/** The hung process takes one connection of two, because it does not confirm that it has taken one. */
const ready = async () => {
  const scrape = () => send(`${edge.operationsUrl}/metrics`)
  return sampleOf((await Promise.any([scrape(), scrape()])).body, 'edge_processes', 'state="ready"')
}

t.test('a rolling restart replaces no process while another one does not respond', async (t) => {
  await eventually(async () => (await ready()) === 2)
  const before = await pidsOf(edge)
  const hung = await pidOf(edge, 2)
  process.kill(hung, 'SIGSTOP')
  t.teardown(() => isRunning(hung) && process.kill(hung, 'SIGCONT'))
  await eventually(async () => (await ready()) === 1)
  write({ replica: { name: 'renamed' } })
  edge.child.kill('SIGHUP')
  await edge.until(/"msg":"rolling restart"/)
  // Each scrape waits for two seconds for the hung process, so several states of process 1 arrive meanwhile.
  for (let sent = 0; sent < 2; sent += 1) t.equal(await ready(), 1)
  t.strictSame(await pidsOf(edge), before, 'both processes are the same ones')
  t.equal(linesOf(edge, 'process draining').length, 0)
  process.kill(hung, 'SIGCONT')
  await edge.until(/"msg":"rolling restart complete"/)
  const after = await pidsOf(edge)
  t.notOk(
    after.some((pid) => before.includes(pid)),
    'both processes are new',
  )
})
