/** An installation may leave the console out: the edge starts without it. */
import { cpSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { program } from '../process/program.ts'

t.test('without a console, the edge serves clients, probes, metrics, problems and the cache', async (t) => {
  const account = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const folder = t.testdir({ users: `admin:${await hash('admin-pw', 4)}\n` })
  cpSync('dist', join(folder, 'dist'), { recursive: true })
  for (const name of ['console', 'console-server']) {
    t.ok(existsSync(join(folder, 'dist', name)), `the build has ${name}`)
    rmSync(join(folder, 'dist', name), { recursive: true })
  }
  cpSync('package.json', join(folder, 'package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const config = join(folder, 'edge.yaml')
  writeFileSync(
    config,
    stringify({
      listen: { host: '127.0.0.1', port: 0, drain: { delay: '0s', limit: '10s' } },
      operations: { host: '127.0.0.1', port: 0 },
      cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
      access: { users: 'users', roles: { admin: ['administrator'] } },
    }),
  )
  const edge = program(t, ['start', '--config', config], { cli: join(folder, 'dist/cli.js') })
  const [, operations = '', url = ''] = await edge.until(/"operationsUrl":"([^"]+)","url":"([^"]+)"/)
  const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
  const textOf = async (address: string, status: number) => {
    const response = await fetch(address, { headers })
    t.equal(response.status, status, address)
    return response.text()
  }
  t.match(await textOf(`${url}/agents?limit=1`, 200), '"totalItems":4')
  t.match(await textOf(`${url}/cache`, 200), '"agents"')
  t.match(await textOf(`${operations}/readyz`, 200), /\S/)
  t.match(await textOf(`${operations}/metrics`, 200), 'http_server_request_duration_seconds_count{')
  t.match(await textOf(`${operations}/api/problems`, 200), '"problems"')
  t.match(await textOf(`${operations}/`, 404), /^No console is installed/)
  t.match(await textOf(`${operations}/api/now`, 404), '"error":603')
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 0)
})
