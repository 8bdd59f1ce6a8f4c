/**
 * A manager cluster in one process for the demo, the tests and the benchmarks. It answers like a real cluster, stores
 * what clients write, and fails on demand.
 */
import type { RequestListener } from 'node:http'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { type CapacityModel, createCapacityModels, type Load, type NodeCapacity } from './capacity.ts'
import { handlerKey } from './distribute.ts'
import { type Fault, type Faults, faultTable, isAway, listens } from './faults.ts'
import { handlers } from './handlers/index.ts'
import { type Listener, listen, type Tls } from './listener.ts'
import { addWorker, moveAgent, promote, removeWorker } from './membership.ts'
import type { SeenRequest, SimNode, World } from './model.ts'
import { nodeApi } from './node.ts'
import { routeTable } from './routes.ts'
import { createV4Layout, type V4Controls, type V4Options } from './v4/index.ts'
import { isMasterOnly } from './v4/releases.ts'
import { createWorld, type WorldOptions } from './world.ts'

export type { Load } from './capacity.ts'
export type { Fault } from './faults.ts'
export type { V4Options, V4User } from './v4/index.ts'
export { isMasterOnly } from './v4/releases.ts'

export type Layout = 'v3' | 'v4'

export interface SimulatorOptions extends WorldOptions {
  /** The layout of the nodes' API; default `v3`. */
  readonly layout?: Layout
  /** Options of the v4 layout. */
  readonly v4?: V4Options
  /** Serve `/experimental/…`; default true. */
  readonly experimental?: boolean
  /** Basic credentials; default `edge` and `simulated`. */
  readonly username?: string
  readonly password?: string
  readonly tls?: Tls
  /** Port of the master. The workers use the following ports. 0 or absent: free ports. */
  readonly port?: number
  /** Record requests in `seen`; default true. */
  readonly remember?: boolean
  /** Makes each node as slow as a real one under load; absent: as fast as this process. */
  readonly capacity?: NodeCapacity
}

export interface Simulator {
  readonly world: World
  /** Master first. From release 5.0 on, the ports of workers are closed. */
  readonly nodes: readonly { readonly name: string; readonly type: 'master' | 'worker'; readonly url: string }[]
  /** All requests to any node, in the order of arrival. */
  readonly seen: SeenRequest[]
  /** Unexpected exceptions of handlers, each answered as error 1000: empty unless the simulator has a defect. */
  readonly thrown: unknown[]
  readonly faults: Faults
  /** Changes what only the v4 layout has; no effect on nodes of the v3 one. */
  readonly v4: V4Controls
  /** Changes the layout of a node's API, as an upgrade of the node does. */
  setLayout(node: string, layout: Layout): void
  /** Returns the load of a node. */
  load(node: string): Load
  /** Makes the agent report to that node. */
  moveAgent(id: string, node: string): void
  /** Adds a worker that accepts requests. */
  join(): Promise<Simulator['nodes'][number]>
  /** Removes a worker: its API is down and the cluster forgets it; its agents still name it until they are moved. */
  leave(worker: string): Promise<void>
  /** Makes the node the master; the previous master becomes a worker. */
  promote(worker: string): Promise<void>
  close(): Promise<void>
}

/** Starts every node on 127.0.0.1. Throws if an endpoint of the catalogue has no handler. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { experimental = true, username = 'edge', password = 'simulated', remember = true, layout = 'v3' } = options
  const endpoints = catalogue.filter((endpoint) => served(endpoint, experimental))
  refuseGaps(catalogue.filter((endpoint) => served(endpoint, true)))
  const world = createWorld({ version: VERSIONS[layout], ...options })
  const listeners = new Map<string, Listener>()
  const capacities = new Map<string, CapacityModel>()
  const createCapacity = createCapacityModels(options.capacity)
  const capacityOf = (name: string) => capacities.get(name) ?? createCapacityModels(undefined)()
  const faults = faultTable(
    () => world.nodes.map((node) => node.name),
    async (name, fault) => {
      await strikeNode(name, fault)
      // The API starts again afterwards, without what its process knew.
      if (fault.apiDown === true || fault.nodeDown === true) v4.controls.restartApi(name)
    },
  )
  const seen: SeenRequest[] = []
  const thrown: unknown[] = []
  const shared = {
    cluster: { world, handlers, faults, forwarded: (name: string) => capacityOf(name).carryOut() },
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    findRoute: routeTable(endpoints),
    see: (request: SeenRequest) => remember && seen.push(request),
    thrown: (fault: unknown) => thrown.push(fault),
  }
  const layouts = new Map<string, Layout>()
  const layoutOf = (name: string) => layouts.get(name) ?? layout
  /** From release 5.0 on, workers have no API. */
  const hasApi = (node: SimNode) =>
    node.type === 'master' || layoutOf(node.name) === 'v3' || !isMasterOnly(node.version ?? world.version)
  const openOrShut = async (node: SimNode) => {
    const listener = listeners.get(node.name)
    await (listens(faults.of(node.name)) && hasApi(node) ? listener?.open() : listener?.shut())
  }
  const strikeNode = async (name: string, fault: Fault) => {
    const node = world.nodes.find((known) => known.name === name)
    if (node === undefined) return
    node.clusterDaemonDown = isAway(fault)
    await openOrShut(node)
  }
  const scale = options.capacity === undefined ? {} : { scale: options.capacity.scale ?? 1 }
  const site = { world, faults, username, password, experimental, see: shared.see, thrown: shared.thrown, ...scale }
  const v4 = createV4Layout(site, options.v4)
  const serve = async (node: SimNode) => {
    const capacity = createCapacity()
    const apis = { v3: nodeApi({ ...shared, node, capacity }), v4: v4.apiOf(node) }
    const at = world.nodes.indexOf(node)
    const serveRequest: RequestListener = (request, response) => {
      // A worker may have been upgraded since it listens.
      if (hasApi(node)) apis[layoutOf(node.name)](request, response)
      else request.socket.destroy()
    }
    const listener = await listen(serveRequest, {
      ...(options.tls && { tls: options.tls }),
      port: options.port ? options.port + at : 0,
    })
    capacities.set(node.name, capacity)
    listeners.set(node.name, listener)
    node.url = listener.url
    await openOrShut(node)
    return node
  }
  for (const node of world.nodes) await serve(node)
  return {
    world,
    nodes: world.nodes,
    seen,
    thrown,
    faults,
    v4: v4.controls,
    setLayout: (name, changed) => layouts.set(name, changed),
    load: (name) => (layoutOf(name) === 'v4' ? v4.load(name) : capacityOf(name).load),
    ...membership(world, { serve, openOrShut, shut: async (name) => listeners.get(name)?.shut() }),
    close: async () => {
      await Promise.all([...listeners.values()].map((listener) => listener.shut()))
    },
  }
}

/** The versions of nodes without an own one. */
const VERSIONS = { v3: '3.11.5', v4: '4.5.4' } as const

interface Doors {
  serve(node: SimNode): Promise<SimNode>
  openOrShut(node: SimNode): Promise<void>
  shut(name: string): Promise<void>
}

function membership(
  world: World,
  { serve, openOrShut, shut }: Doors,
): Pick<Simulator, 'moveAgent' | 'join' | 'leave' | 'promote'> {
  return {
    moveAgent: (id, node) => moveAgent(world, id, node),
    join: () => serve(addWorker(world)),
    leave: async (name) => {
      removeWorker(world, name)
      await shut(name)
    },
    promote: async (name) => {
      promote(world, name)
      await Promise.all(world.nodes.map(openOrShut))
    },
  }
}

function served({ target, experimental }: Endpoint, withExperimental: boolean): boolean {
  return target.kind !== 'edge' && target.kind !== 'severalNodes' && (withExperimental || experimental !== true)
}

function refuseGaps(endpoints: readonly Endpoint[]): void {
  const missing = endpoints.map(handlerKey).filter((key) => handlers[key] === undefined)
  if (missing.length > 0)
    throw new Error(`Write a handler in packages/simulator/src/handlers for ${missing.join(', ')}`)
}
