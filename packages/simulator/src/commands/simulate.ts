/** `manager-edge simulate`: runs a simulated cluster alone, on 127.0.0.1 only, for an edge that is started apart. */
import { once } from 'node:events'
import { stringify } from 'yaml'
import { CommandError, print } from '../../../../src/cli/terminal.ts'
import { isMasterOnly, type Layout, type Simulator, type SimulatorOptions, startSimulator } from '../index.ts'

export interface ClusterOptions {
  readonly agents: number
  readonly workers: number
  readonly seed: number
  readonly layout: Layout
  /** Such as `5.0.0`. Absent: the usual one of the layout. */
  readonly release?: string
}

export interface SimulateOptions extends ClusterOptions {
  /** Port of the master. The workers use the following ports. 0: free ports. */
  readonly port: number
  readonly username: string
  readonly password: string
}

/** The limit of nodes in the v4 layout. Those of the v3 one have none. */
const REQUESTS_PER_MINUTE = 300
const UNAUTHENTICATED_PER_MINUTE = 10

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
  { agents, workers, seed, layout, release }: ClusterOptions,
  options: Pick<SimulatorOptions, 'port' | 'username' | 'password'>,
): Promise<Simulator> {
  if (release !== undefined && !RELEASES[layout].test(release)) {
    throw new CommandError(`no simulated node of the layout ${layout} has release ${release}`)
  }
  const version = release === undefined ? {} : { version: release }
  const v4 = { requestsPerMinute: REQUESTS_PER_MINUTE, unauthenticatedPerMinute: UNAUTHENTICATED_PER_MINUTE }
  try {
    return await startSimulator({ agents, workers, seed, layout, v4, ...version, ...options, remember: false })
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { readonly port?: number }
    if (code !== 'EADDRINUSE') throw error
    throw new CommandError(`port ${port} is in use; choose another first port with --port`)
  }
}

const RELEASES = { v3: /^3\.\d+\.\d+$/, v4: /^[45]\.\d+\.\d+$/ } as const

/** Returns the nodes as settings have them: those with an API. */
export function nodeSettings({ nodes, world }: Simulator) {
  const listed = nodes.filter(({ type }) => type === 'master' || !isMasterOnly(world.version))
  return listed.map(({ name, type, url }) => ({ name, type, url }))
}

/** Returns the settings of an edge in front of the cluster, as YAML with comments. */
function formatSettings(cluster: Simulator, { username, password, agents, workers, layout }: SimulateOptions): string {
  const settings = {
    cluster: {
      layout,
      nodes: nodeSettings(cluster),
      credentials: { username, password },
    },
  }
  const [master] = cluster.nodes
  const access = layout === 'v3' ? `curl -u ${username}:${password} '${master?.url}/agents?limit=3&pretty'` : undefined
  return `# A simulated cluster runs: one master, workers: ${workers}, agents: ${agents}, ${layout} layout.
# Settings of an edge in front of it, besides access.users and access.roles:
${stringify(settings)}${access === undefined ? '' : `# A call to the bare API:\n# ${access}\n`}# Press Ctrl-C to stop.`
}
