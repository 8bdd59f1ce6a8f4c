import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { putUser } from '../access/users-file.ts'
import { type Config, loadConfig } from '../config/index.ts'
import { run, type Urls } from '../server.ts'
import { type Simulator, startSimulator } from '../simulator/index.ts'
import { CommandError, print } from './terminal.ts'

export interface DemoOptions {
  readonly port: number
  readonly operationsPort: number
  readonly agents: number
  readonly workers: number
  readonly seed: number
  readonly userPassword?: string
}

const roles = { admin: 'administrator', operator: 'operator', reader: 'reader' } as const

/** `manager-edge demo`: the edge in front of a simulated cluster, both in this process and on 127.0.0.1 only. */
export async function demo(options: DemoOptions): Promise<number> {
  const account = { username: 'edge', password: madeUp() }
  const { workers, agents, seed } = options
  const simulator = await startSimulator({ workers, agents, seed, ...account, remember: false })
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-demo-'))
  try {
    const passwords = await makeUsers(join(folder, 'users'), options.userPassword)
    const config = await settings(folder, simulator, account, options)
    return await run(config, { listening: (urls) => print(welcome(urls, passwords, options)) })
  } finally {
    await Promise.all([simulator.close(), rm(folder, { recursive: true, force: true })])
  }
}

async function makeUsers(file: string, password: string | undefined): Promise<Map<string, string>> {
  const passwords = new Map(Object.keys(roles).map((user) => [user, password ?? madeUp()]))
  for (const [user, each] of passwords) await putUser(file, user, each)
  return passwords
}

/** Written and read as a real file of settings, so that the demo shows what a start does. The environment is left out. */
async function settings(
  folder: string,
  { nodes }: Simulator,
  account: { readonly username: string; readonly password: string },
  { port, operationsPort }: DemoOptions,
): Promise<Config> {
  const file = join(folder, 'edge.yaml')
  const host = '127.0.0.1'
  const written = {
    // Nobody balances here, so nobody needs notice.
    listen: { host, port, drain: { notice: '0s' } },
    operations: { host, port: operationsPort },
    cluster: { nodes: nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    access: { users: 'users', roles: Object.fromEntries(Object.entries(roles).map(([user, role]) => [user, [role]])) },
    log: { format: 'text' },
  }
  await writeFile(file, stringify(written), { mode: 0o600 })
  const loaded = await loadConfig({ file, env: {} })
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'))
  return loaded.config
}

function welcome({ url, operationsUrl }: Urls, passwords: ReadonlyMap<string, string>, options: DemoOptions): string {
  const users = Object.entries(roles).map(([user, role]) => `  ${user.padEnd(9)} ${passwords.get(user)}   (${role})`)
  return `
Manager Edge listens on ${url}, operations on ${operationsUrl}
in front of a simulated cluster: one master, ${options.workers} workers, ${options.agents} agents.

Users and their passwords:
${users.join('\n')}

Try it:
  curl -u admin:${passwords.get('admin')} '${url}/agents?limit=3&pretty'
  curl ${operationsUrl}/readyz
  ${operationsUrl}/console/   in a browser, as admin or operator

Ctrl-C ends it.
`
}

function madeUp(): string {
  return randomBytes(9).toString('base64url')
}
