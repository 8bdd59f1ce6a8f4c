/** The cluster and its nodes, and the API itself. */
import { countActive } from '../../agent-state.ts'
import { clusterSettings } from '../../data/node/cluster-settings.ts'
import { after } from '../../data/times.ts'
import type { SimNode, World } from '../../model.ts'
import { affected } from '../answers.ts'
import { collectRows, type Table } from '../collection.ts'
import { connectedNodes } from '../distribute.ts'
import { V4Error } from '../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { zuluAt } from '../rows.ts'

const CLUSTER = 'cluster'

const nodeTable: Table = { kind: 'list', fields: ['name', 'version', 'ip', 'type'] }

function factsOf({ name, type, ip, version }: SimNode, world: World) {
  return { name, type, version: version ?? world.version, ip }
}

function nodes({ world, query, allowsNamed }: Asked) {
  const known = connectedNodes(world)
    .filter(({ name }) => allowsNamed(name))
    .map((node) => factsOf(node, world))
  const names = membersOf(query.nodes_list)
  const listed = known.filter(({ name, type }) => (names?.includes(name) ?? true) && (query.type ?? type) === type)
  const unknown = (names ?? []).filter((name) => !known.some((node) => node.name === name))
  const { items, total } = collectRows(listed, nodeTable, query, world.now())
  return affected(items, { total, failed: unknown.map((id) => ({ id, error: new V4Error(1730) })) })
}

/** Unknown names are left out without a failed item. */
function health({ world, query, allowsNamed }: Asked) {
  const names = membersOf(query.nodes_list)
  const found = connectedNodes(world).filter(({ name }) => allowsNamed(name) && (names?.includes(name) ?? true))
  const active = countActive(world, false)
  return affected(
    found.map((node) => {
      const info = { ...factsOf(node, world), n_active_agents: active.get(node.name) ?? 0 }
      return node.type === 'master' ? { info } : { info, status: syncOf(world) }
    }),
  )
}

function syncOf(world: World) {
  const at = (secondsAgo: number) => `${after(world.now(), -secondsAgo).toISOString().slice(0, 23)}000Z`
  const ofMaster = (secondsAgo: number) => ({ date_start_master: at(secondsAgo), date_end_master: at(secondsAgo) })
  const ofGroups = (secondsAgo: number) => ({
    date_start: at(secondsAgo),
    date_end: at(secondsAgo),
    n_synced_chunks: 1,
  })
  return {
    sync_integrity_free: true,
    last_check_integrity: ofMaster(8),
    last_sync_integrity: {
      date_start_master: 'n/a',
      date_end_master: 'n/a',
      total_extra_valid: 0,
      total_files: { missing: 0, shared: 0, extra: 0, extra_valid: 0 },
    },
    sync_agent_info_free: true,
    last_sync_agentinfo: { ...ofMaster(6), n_synced_chunks: 1 },
    last_sync_agentgroup: ofGroups(5),
    last_sync_full_agentgroup: ofGroups(900),
    last_keep_alive: at(30),
  }
}

function welcome({ world, node }: Asked) {
  const data = {
    title: 'Wazuh API REST',
    api_version: node.version ?? world.version,
    revision: 40_510,
    license_name: 'GPL 2.0',
    license_url: `https://github.com/wazuh/wazuh/blob/v${world.version}/LICENSE`,
    hostname: node.name,
    timestamp: zuluAt(world.now()),
  }
  return { kind: 'data', data } as const
}

const nodeRead = { action: 'cluster:read', type: 'node:id', named: 'node' } as const
const localTexts = {
  all: 'All selected information was returned',
  some: 'Some information was not returned',
  none: 'No information was returned',
}

export const clusterCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/',
    runs: 'here',
    needs: [],
    texts: NO_TEXTS,
    inApi: true,
    run: welcome,
  },
  {
    method: 'GET',
    path: '/cluster/local/info',
    runs: 'here',
    needs: [nodeRead],
    texts: localTexts,
    run: ({ node }) => affected([{ node: node.name, cluster: CLUSTER, type: node.type }]),
  },
  {
    method: 'GET',
    path: '/cluster/local/config',
    runs: 'here',
    needs: [nodeRead],
    texts: localTexts,
    run: ({ world, node }) => affected([clusterSettings(world, node)]),
  },
  {
    method: 'GET',
    path: '/cluster/status',
    runs: 'here',
    needs: [{ action: 'cluster:status', type: '*:*', named: 'whole' }],
    texts: NO_TEXTS,
    run: ({ node }) => ({
      kind: 'data',
      data: { enabled: 'yes', running: node.clusterDaemonDown === true ? 'no' : 'yes' },
    }),
  },
  {
    method: 'GET',
    path: '/cluster/nodes',
    runs: 'master',
    needs: [{ action: 'cluster:read', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }],
    texts: {
      all: 'All selected nodes information was returned',
      some: 'Some nodes information was not returned',
      none: 'No information was returned',
    },
    inApi: true,
    run: nodes,
  },
  {
    method: 'GET',
    path: '/cluster/healthcheck',
    runs: 'master',
    needs: [{ action: 'cluster:read', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }],
    texts: {
      all: 'All selected nodes healthcheck information was returned',
      some: 'Some nodes healthcheck information was not returned',
      none: 'No healthcheck information was returned',
    },
    inApi: true,
    run: health,
  },
]
