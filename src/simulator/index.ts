/**
 * A manager cluster in one process, for the demo, the tests and the benchmarks: it answers on the wire as
 * a real one does, keeps what is written into it, and fails on demand.
 */
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { type Cluster, handlerKey } from './distribute.ts'
import { type Fault, type Faults, faultTable, isAway, listens } from './faults.ts'
import { handlers } from './handlers/index.ts'
import { type Listener, listen, type Tls } from './listener.ts'
import type { SeenRequest, World } from './model.ts'
import { nodeApi } from './node.ts'
import { routeTable } from './routes.ts'
import { createWorld, type WorldOptions } from './world.ts'

export type { Fault, Faults } from './faults.ts'

export interface SimulatorOptions extends WorldOptions {
  /** Serve `/experimental/…`; default true. */
  readonly experimental?: boolean
  /** Basic credentials; default `edge` and `simulated`. */
  readonly username?: string
  readonly password?: string
  readonly tls?: Tls
  /** Keep `seen`; default true. */
  readonly remember?: boolean
}

export interface Simulator {
  readonly world: World
  /** Master first. */
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
  /** Every request that reached any node, in the order of arrival. */
  readonly seen: SeenRequest[]
  /** What handlers threw beside refusals, each answered as error 1000: empty unless the simulator is wrong. */
  readonly thrown: unknown[]
  readonly faults: Faults
  close(): Promise<void>
}

/** Starts every node on a free port of 127.0.0.1. Throws when the catalogue names what no handler answers. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { experimental = true, username = 'edge', password = 'simulated', remember = true } = options
  const endpoints = catalogue.filter((endpoint) => served(endpoint, experimental))
  refuseGaps(endpoints)
  const world = createWorld(options)
  const listeners = new Map<string, Listener>()
  const faults = faultTable(
    world.nodes.map((node) => node.name),
    (name, fault) => strikeNode(world, listeners, name, fault),
  )
  const cluster: Cluster = { world, handlers, faults }
  const seen: SeenRequest[] = []
  const thrown: unknown[] = []
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const shared = {
    cluster,
    authorization,
    findRoute: routeTable(endpoints),
    see: (request: SeenRequest) => remember && seen.push(request),
    thrown: (fault: unknown) => thrown.push(fault),
  }
  for (const node of world.nodes) {
    const listener = await listen(nodeApi({ ...shared, node }), options.tls)
    listeners.set(node.name, listener)
    node.url = listener.url
  }
  const close = async () => {
    await Promise.all([...listeners.values()].map((listener) => listener.shut()))
  }
  return { world, nodes: world.nodes, seen, thrown, faults, close }
}

function served({ target, experimental }: Endpoint, withExperimental: boolean): boolean {
  return target.kind !== 'edge' && target.kind !== 'severalNodes' && (withExperimental || experimental !== true)
}

function refuseGaps(endpoints: readonly Endpoint[]): void {
  const missing = endpoints.map(handlerKey).filter((key) => handlers[key] === undefined)
  if (missing.length > 0) throw new Error(`Write a handler in src/simulator/handlers for ${missing.join(', ')}`)
}

async function strikeNode(world: World, listeners: Map<string, Listener>, name: string, fault: Fault): Promise<void> {
  const node = world.nodes.find((known) => known.name === name)
  if (node !== undefined) node.away = isAway(fault)
  const listener = listeners.get(name)
  await (listens(fault) ? listener?.open() : listener?.shut())
}
