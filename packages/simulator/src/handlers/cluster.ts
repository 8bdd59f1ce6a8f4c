/** Facts of the cluster and the identity of the node. */

import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { countActive } from '../agent-state.ts'
import { collect } from '../data/collect.ts'
import { clusterSettings } from '../data/node/cluster-settings.ts'
import { after, stamp } from '../data/times.ts'
import type { SimHandlers, SimNode, SimRequest, World } from '../model.ts'
import { refusal } from '../texts.ts'

const CLUSTER = 'cluster'

/** Returns the connected nodes, master first; throws 3012 if the cluster daemon is down. */
function connectedNodes({ world, node }: SimRequest): SimNode[] {
  const nodes = world.nodes.filter((known) => known.clusterDaemonDown !== true)
  if (node.clusterDaemonDown === true || !nodes.some((known) => known.type === 'master')) throw refusal(3012)
  return nodes
}

function factsOf({ name, type, ip }: SimNode, { version }: World) {
  return { name, type, version, ip }
}

/** The manager selects fields before everything else: conditions, searches and sorts miss the others. */
function nodes(request: SimRequest) {
  const { select, type, ...others } = request.query
  const now = request.world.now()
  const all = connectedNodes(request).map((node) => factsOf(node, request.world))
  const selected = collect(all, parseCollectionRequest(defined({ select, type }), now), sources.nodes).items
  const { items, totalItems } = collect(selected, parseCollectionRequest(others, now), {
    ...sources.nodes,
    ...(select !== undefined && { sortable: select.split(',') }),
  })
  return { totalItems, items }
}

function defined(query: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** `select` is accepted and has no effect, as recorded. */
function oneNode(request: SimRequest) {
  const node = connectedNodes(request).find((known) => known.name === request.params.node_name)
  if (node === undefined) throw refusal(1730)
  return factsOf(node, request.world)
}

/** Workers first. The filter tests whether the name of a node occurs in the given text, as in the real master. */
function health(request: SimRequest) {
  const { world, query } = request
  const named = query.node
  const found = connectedNodes(request).filter((node) => named === undefined || named.includes(node.name))
  const workers = found.filter((node) => node.type === 'worker')
  const masters = found.filter((node) => node.type === 'master')
  const active = countActive(world, true)
  const infoOf = (node: SimNode) => ({ ...factsOf(node, world), n_active_agents: active.get(node.name) ?? 0 })
  const entries = [
    ...workers.map((node) => [node.name, { info: infoOf(node), status: syncOf(world) }]),
    ...masters.map((node) => [node.name, { info: infoOf(node) }]),
  ]
  return { n_connected_nodes: workers.length, nodes: Object.fromEntries(entries) }
}

/** The last rounds of the periodic synchronisation. */
function syncOf(world: World) {
  const at = (secondsAgo: number) => `${stamp(after(world.now(), -secondsAgo))}.000000`
  const round = (secondsAgo: number) => ({ date_start_master: at(secondsAgo), date_end_master: at(secondsAgo) })
  return {
    sync_integrity_free: true,
    last_sync_integrity: { ...round(8), total_files: { missing: 0, extra: 0, extra_valid: 0, shared: 0 } },
    sync_agentinfo_free: true,
    last_sync_agentinfo: { ...round(6), total_agentinfo: 0, total_agent_info: world.agents.size },
    sync_extravalid_free: true,
    last_sync_agentgroups: { date_start_master: 'n/a', date_end_master: 'n/a', total_agentgroups: 0 },
    last_keep_alive: at(30),
  }
}

function welcome({ world, node }: SimRequest) {
  return {
    msg: 'Welcome to the manager API',
    api_version: `v${world.version}`,
    hostname: node.name,
    timestamp: world.now().toString(),
  }
}

export const clusterHandlers: SimHandlers = {
  'GET /cluster/nodes': nodes,
  'GET /cluster/nodes/:node_name': oneNode,
  'GET /cluster/healthcheck': health,
  'GET /cluster/config': ({ world, node }) => clusterSettings(world, node),
  'GET /cluster/node': ({ node }) => ({ node: node.name, cluster: CLUSTER, type: node.type }),
  'GET /cluster/status': ({ node }) => ({ enabled: 'yes', running: node.clusterDaemonDown === true ? 'no' : 'yes' }),
  'GET /': welcome,
  'GET /version': ({ world }) => `v${world.version}`,
}
