/** An edge with the console in front of a simulated cluster. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type EdgeUnderTest, type RunningEdge, startEdge } from '../../support/edge.ts'

/** Of the edge's account on the simulated nodes. */
export const SIMULATED_PASSWORD = 'simulated'

export interface ConsoleEdge extends RunningEdge {
  readonly simulator: Simulator
  get(path: string, user?: string): Promise<Response>
}

/** The user `operator` may also drain nodes. */
export const drainAccess = {
  roles: { operator: ['operator', 'maintainer'], reader: ['operator'] },
  customRoles: { maintainer: ['nodes:drain'] },
}

/** What `sendRequests` stores stays in the cache as long as a test takes on busy cores. */
export const ttl = { agents: '10m', cluster: '10m', decoders: '10m', rules: '10m', summary: '10m' }

export async function startConsoleEdge(
  settings: Readonly<Record<string, unknown>> = { cache: { ttl } },
  options: Pick<EdgeUnderTest, 'reloads'> = {},
): Promise<ConsoleEdge> {
  buildPage()
  const simulator = await startSimulator({ agents: 40, workers: 2 })
  const edge = await startEdge({ nodes: simulator.nodes, password: SIMULATED_PASSWORD, settings, ...options })
  return {
    ...edge,
    simulator,
    get: (path, user = 'operator') => fetch(edge.url + path, { headers: { authorization: edge.authorization(user) } }),
    close: async () => {
      await edge.close()
      await simulator.close()
    },
  }
}

export const urls = [
  '/agents?limit=5',
  '/agents/000',
  '/rules?limit=3',
  '/decoders?limit=3',
  '/cluster/nodes',
  '/summary/agents',
]

/** Sends each of `urls` once per round. */
export async function sendRequests({ get }: ConsoleEdge, rounds = 3): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const url of urls) await (await get(url)).text()
  }
}

/** Builds the page if `npm test` has not built it. */
export function buildPage(): void {
  if (!existsSync('dist/console/index.html')) execFileSync(process.execPath, ['packages/console/build.mjs'])
}
