/** `top` in a terminal: it fits the screen, is repainted, and ends with a key. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const [COLUMNS, ROWS] = [60, 14]

t.test('top fits the screen of a terminal, and ends with q', async (t) => {
  const simulator = await startSimulator({ agents: 6, workers: 1, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes })
  t.teardown(() => edge.close())
  const passwordFile = join(edge.folder, 'password')
  writeFileSync(passwordFile, 'admin-pw\n')
  for (let id = 0; id < 6; id++) {
    const headers = { authorization: edge.authorization('admin') }
    await (await fetch(`${edge.url}/agents/00${id}`, { headers })).arrayBuffer()
  }
  const command = `stty cols ${COLUMNS} rows ${ROWS}; exec '${process.execPath}' dist/cli.js top --operations ${edge.operationsUrl} --user admin --password-file '${passwordFile}'`
  // util-linux: runs the command with its own terminal.
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'])
  let output = ''
  child.stdout.on('data', (bytes) => {
    output += bytes
  })
  t.teardown(() => void child.kill())
  const ended = new Promise<number | null>((resolve) => void child.on('exit', resolve))
  const screens = () => output.split('\x1b[H').slice(1)
  await eventually(() => screens().length > 2, 60_000)
  child.stdin.write('q')
  t.equal(await ended, 0)
  for (const screen of screens().slice(0, -1)) {
    const lines = screen
      .replaceAll('\x1b[K', '')
      .replaceAll(/\x1b\[[\d;]*[mJ]/g, '')
      .split('\r\n')
    t.ok(lines.length <= ROWS, `${lines.length} lines`)
    for (const line of lines) t.ok(line.length <= COLUMNS, line)
    t.match(lines[0], /^\S+ \S+, ready: /, 'the head is the first line of the screen')
    t.equal(lines.at(-1), 'q: quit')
  }
})
