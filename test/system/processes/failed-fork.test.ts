import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { linesOf, pidsOf, send, stage, start } from './processes.ts'

const { file, folder } = await stage(t)

t.test('a process that the system cannot start is tried again', async (t) => {
  const node = join(folder, 'node')
  copyFileSync(process.execPath, node)
  const edge = await start(t, file, 2, { executable: node })
  // A process buffers its lines for a tenth of a second, so this one must have written its line before it is killed.
  const listening = () => linesOf(edge, 'process listening').length
  await eventually(() => listening() === 2)
  const [first = 0] = await pidsOf(edge)
  renameSync(node, `${node}.moved`)
  process.kill(first, 'SIGKILL')
  const failed = () =>
    linesOf(edge, 'process ended, another one starts').filter(({ how }) => `${how}`.includes('ENOENT'))
  await eventually(() => failed().length >= 2)
  t.equal((await send(`${edge.url}/agents`)).status, 200, 'the other process serves')
  renameSync(`${node}.moved`, node)
  await eventually(() => listening() === 3)
  edge.child.kill('SIGTERM')
  t.strictSame((await edge.ended).code, 0)
})
