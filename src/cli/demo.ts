/** `manager-edge demo`: runs the edge in front of a simulated cluster, both in this process and on 127.0.0.1 only. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { putUser } from '../access/users-file.ts'
import { loadConfig } from '../config/index.ts'
import type { Config } from '../config/schema.ts'
import { run, type Urls } from '../server.ts'
import type { Layout, Simulator } from '../simulator/index.ts'
import { CommandError, print } from './terminal.ts'

export interface DemoOptions {
  readonly port: number
  readonly operationsPort: number
  readonly agents: number
  readonly workers: number
  readonly seed: number
  readonly layout: Layout
  readonly userPassword?: string
}

/** The limit of nodes in the newer layout. Those of the classic one have none. */
const REQUESTS_PER_MINUTE = 300

/** User name → role. */
const USERS = { admin: 'administrator', operator: 'operator', reader: 'reader' } as const

export async function demo(options: DemoOptions): Promise<number> {
  const account = { username: 'edge', password: randomPassword() }
  const { workers, agents, seed, layout } = options
  const { startSimulator } = await loadSimulator()
  const newer = { requestsPerMinute: REQUESTS_PER_MINUTE }
  const simulator = await startSimulator({ workers, agents, seed, layout, newer, ...account, remember: false })
  const folder = await mkdtemp(join(tmpdir(), 'manager-edge-demo-'))
  try {
    const passwords = await addUsers(join(folder, 'users'), options.userPassword)
    const config = await createConfig(folder, simulator, account, options)
    return await run(config, { onListening: (urls) => print(formatWelcome(urls, passwords, options)) })
  } finally {
    await Promise.all([simulator.close(), rm(folder, { recursive: true, force: true })])
  }
}

/** The container image does not contain the simulator. */
async function loadSimulator(): Promise<typeof import('../simulator/index.ts')> {
  try {
    return await import('../simulator/index.ts')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandError(
      'the demo is not included in this installation (the container image has no simulator); run it from the source with "npm run demo"',
    )
  }
}

async function addUsers(file: string, password: string | undefined): Promise<Map<string, string>> {
  const passwords = new Map(Object.keys(USERS).map((user) => [user, password ?? randomPassword()]))
  for (const [user, each] of passwords) await putUser(file, user, each)
  return passwords
}

/** Writes and loads a real configuration file, so that the demo starts as an edge does. Ignores the environment. */
async function createConfig(
  folder: string,
  { nodes }: Simulator,
  account: { readonly username: string; readonly password: string },
  { port, operationsPort, layout }: DemoOptions,
): Promise<Config> {
  const file = join(folder, 'edge.yaml')
  const host = '127.0.0.1'
  const settings = {
    // There is no balancer that must notice the drain.
    listen: { host, port, drain: { delay: '0s' } },
    operations: { host, port: operationsPort },
    cluster: { layout, nodes: nodes.map(({ name, type, url }) => ({ name, type, url })), credentials: account },
    access: { users: 'users', roles: Object.fromEntries(Object.entries(USERS).map(([user, role]) => [user, [role]])) },
    log: { format: 'text' },
  }
  await writeFile(file, stringify(settings), { mode: 0o600 })
  const loaded = await loadConfig({ file, env: {} })
  if (!loaded.ok) throw new CommandError(loaded.faults.join('\n'))
  return loaded.config
}

function formatWelcome(
  { url, operationsUrl }: Urls,
  passwords: ReadonlyMap<string, string>,
  { workers, agents, layout }: DemoOptions,
): string {
  const users = Object.entries(USERS).map(([user, role]) => `  ${user.padEnd(9)} ${passwords.get(user)}   (${role})`)
  return `
Manager Edge listens on ${url}, operations on ${operationsUrl}
in front of a simulated cluster in the ${layout} layout: one master, ${workers} workers, ${agents} agents.

Users and their passwords:
${users.join('\n')}

Try it:
  curl -u admin:${passwords.get('admin')} '${url}/agents?limit=3&pretty'
  curl ${operationsUrl}/readyz
  ${operationsUrl}/console/   in a browser, as admin or operator

Press Ctrl-C to stop.
`
}

function randomPassword(): string {
  return randomBytes(9).toString('base64url')
}
