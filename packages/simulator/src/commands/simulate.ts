/** `manager-edge simulate`: runs a simulated cluster alone, on 127.0.0.1 only, for an edge that is started apart. */
import { once } from 'node:events'
import { stringify } from 'yaml'
import { CommandError, print } from '../../../../src/cli/terminal.ts'
import { type Layout, type Simulator, type SimulatorOptions, startSimulator } from '../index.ts'

export interface ClusterOptions {
  readonly agents: number
  readonly workers: number
  readonly seed: number
  readonly layout: Layout
}

export interface SimulateOptions extends ClusterOptions {
  /** Port of the master. The workers use the following ports. 0: free ports. */
  readonly port: number
  readonly username: string
  readonly password: string
}

/** The limit of nodes in the v4 layout. Those of the v3 one have none. */
const REQUESTS_PER_MINUTE = 300

/** Runs until SIGINT or SIGTERM. Resolves to the exit code. */
export async function simulate(options: SimulateOptions): Promise<number> {
  const { port, username, password } = options
  const cluster = await startCluster(options, { port, username, password })
  print(formatSettings(cluster, options))
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  await cluster.close()
  return 0
}

/** Starts the nodes of a cluster for a demo or for the command `simulate`. */
export async function startCluster(
  { agents, workers, seed, layout }: ClusterOptions,
  options: Pick<SimulatorOptions, 'port' | 'username' | 'password'>,
): Promise<Simulator> {
  const v4 = { requestsPerMinute: REQUESTS_PER_MINUTE }
  try {
    return await startSimulator({ agents, workers, seed, layout, v4, ...options, remember: false })
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { readonly port?: number }
    if (code !== 'EADDRINUSE') throw error
    throw new CommandError(`port ${port} is in use; choose another first port with --port`)
  }
}

/** Returns the settings of an edge in front of the cluster, as YAML with comments. */
function formatSettings(
  { nodes }: Simulator,
  { username, password, agents, workers, layout }: SimulateOptions,
): string {
  const settings = {
    cluster: {
      layout,
      nodes: nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username, password },
    },
  }
  const [master] = nodes
  const access = layout === 'v3' ? `curl -u ${username}:${password} '${master?.url}/agents?limit=3&pretty'` : undefined
  return `# A simulated cluster runs: one master, workers: ${workers}, agents: ${agents}, ${layout} layout.
# Settings of an edge in front of it, besides access.users and access.roles:
${stringify(settings)}${access === undefined ? '' : `# A call to the bare API:\n# ${access}\n`}# Press Ctrl-C to stop.`
}
