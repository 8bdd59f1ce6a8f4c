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
import { hasRelease5 } from '../releases.ts'
import { zuluAt } from '../rows.ts'
import { HIDDEN, mayReadKey } from './main-configuration.ts'

const CLUSTER = 'cluster'
const STAGE_OF_5 = 'beta5'

const nodeTable: Table = { kind: 'list', fields: ['name', 'version', 'ip', 'type'] }
const nodeTableOf5: Table = { kind: 'list', fields: ['name', 'ip', 'version', 'type'] }

function factsOf({ name, type, ip, version }: SimNode, world: World) {
  return { name, type, version: version ?? world.version, ip }
}

function nodes(asked: Asked) {
  const { world, query, allowsNamed } = asked
  const known = connectedNodes(world)
    .filter(({ name }) => allowsNamed(name))
    .map((node) => factsOf(node, world))
  const names = membersOf(query.nodes_list)
  const listed = known.filter(({ name, type }) => (names?.includes(name) ?? true) && (query.type ?? type) === type)
  const unknown = (names ?? []).filter((name) => !known.some((node) => node.name === name))
  const { items, total } = collectRows(listed, hasRelease5(asked) ? nodeTableOf5 : nodeTable, query, world.now())
  return affected(items, { total, failed: unknown.map((id) => ({ id, error: new V4Error(1730) })) })
}

/** Unknown names are left out without a failed item. */
function health(asked: Asked) {
  const { world, query, allowsNamed } = asked
  const names = membersOf(query.nodes_list)
  const found = connectedNodes(world).filter(({ name }) => allowsNamed(name) && (names?.includes(name) ?? true))
  const active = countActive(world, false)
  const isLater = hasRelease5(asked)
  return affected(
    found.map((node) => {
      const facts = factsOf(node, world)
      const info = isLater ? facts : { ...facts, n_active_agents: active.get(node.name) ?? 0 }
      return node.type === 'master' ? { info } : { info, status: syncOf(world, isLater) }
    }),
  )
}

function syncOf(world: World, isLater: boolean) {
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
      total_files: { missing: 0, shared: 0, extra: 0, ...(!isLater && { extra_valid: 0 }) },
    },
    sync_agent_info_free: true,
    last_sync_agentinfo: { ...ofMaster(6), n_synced_chunks: 1 },
    last_sync_agentgroup: ofGroups(5),
    last_sync_full_agentgroup: ofGroups(900),
    last_keep_alive: at(30),
  }
}

function welcome(asked: Asked) {
  const { world, node } = asked
  const version = node.version ?? world.version
  const isLater = hasRelease5(asked)
  const data = {
    title: 'Wazuh API REST',
    api_version: version,
    revision: isLater ? STAGE_OF_5 : 40_510,
    license_name: 'GPL 2.0',
    license_url: `https://github.com/wazuh/wazuh/blob/v${version}${isLater ? `-${STAGE_OF_5}` : ''}/LICENSE`,
    hostname: node.name,
    timestamp: zuluAt(world.now()),
  }
  return { kind: 'data', data } as const
}

/** Release 5.0 shows the key to users only who may change it. */
function localConfiguration(asked: Asked) {
  const { world, node } = asked
  const { disabled, ...settings } = clusterSettings(world, node)
  if (!hasRelease5(asked)) return affected([{ ...settings, disabled }])
  return affected([{ ...settings, key: mayReadKey(asked) ? settings.key : HIDDEN }])
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
    run: localConfiguration,
  },
  {
    method: 'GET',
    path: '/cluster/status',
    runs: 'here',
    needs: [{ action: 'cluster:status', type: '*:*', named: 'whole' }],
    texts: NO_TEXTS,
    run: (asked) => {
      const running = asked.node.clusterDaemonDown === true ? 'no' : 'yes'
      return { kind: 'data', data: hasRelease5(asked) ? { running } : { enabled: 'yes', running } }
    },
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
