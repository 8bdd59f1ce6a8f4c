/** An installation may leave the console out: the edge starts without it. */
import { cpSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { program } from '../process/program.ts'

const account = { username: 'edge', password: 'only-for-tests' }

/** Copies the build without the console. Returns its program and its configuration. */
async function installWithoutConsole(t: Test, more: object = {}) {
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
      operations: { host: '127.0.0.1', port: 0, ...more },
      cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
      access: { users: 'users', roles: { admin: ['administrator'] } },
    }),
  )
  return { config, cli: join(folder, 'dist/cli.js') }
}

t.test('without a console, the edge serves clients, probes, metrics, problems and the cache', async (t) => {
  const { config, cli } = await installWithoutConsole(t)
  const edge = program(t, ['start', '--config', config], { cli })
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

t.test('check and start name the sign-ins that need the console', async (t) => {
  const redirectUrl = 'https://edge.example/sign-in/callback'
  const signIn = {
    issuer: 'https://issuer.example',
    clientId: 'edge',
    redirectUrl,
    roles: { admins: ['administrator'] },
  }
  const { config, cli } = await installWithoutConsole(t, { signIn })
  const sentence = 'no console is installed: operations.signIn has no effect'
  const check = program(t, ['check', '--config', config], { cli })
  await check.until(new RegExp(sentence))
  t.equal((await check.ended).code, 0)
  const edge = program(t, ['start', '--config', config], { cli })
  await edge.until(new RegExp(`"warning":"${sentence}"`))
  await edge.until(/"operationsUrl"/)
  edge.child.kill('SIGTERM')
  t.equal((await edge.ended).code, 0)
})
