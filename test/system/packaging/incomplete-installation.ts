/** Installations that leave parts of the build out. */
import { cpSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { startSimulator } from '../../../packages/simulator/src/index.ts'

const account = { username: 'edge', password: 'only-for-tests' }

/** Copies the build without some of its folders. Returns its program and its configuration. `operations`: more settings. */
export async function installWithout(t: Test, leftOut: readonly string[], operations: object = {}) {
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const folder = t.testdir({ users: `admin:${await hash('admin-pw', 4)}\n` })
  cpSync('dist', join(folder, 'dist'), { recursive: true })
  for (const name of leftOut) {
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
      operations: { host: '127.0.0.1', port: 0, ...operations },
      cluster: { nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
      access: { users: 'users', roles: { admin: ['administrator'] } },
    }),
  )
  return { config, cli: join(folder, 'dist/cli.js') }
}
