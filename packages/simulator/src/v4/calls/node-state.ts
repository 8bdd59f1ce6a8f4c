/** What nodes say about their API and their ruleset, and the reload of the ruleset. */
import type { SimNode, World } from '../../model.ts'
import { affected } from '../answers.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { isoAt } from '../rows.ts'

/** What the API of each release has by default. */
export const defaults = {
  cors: {
    enabled: false,
    source_route: '*',
    expose_headers: '*',
    allow_headers: '*',
    allow_credentials: false,
  },
  access: { max_login_attempts: 50, block_time: 300, max_request_per_minute: 300 },
}

const SSL = '/var/ossec/api/configuration/ssl'

function apiConfiguration({ node }: Asked) {
  const allowed = { allow: true, exceptions: [] }
  return affected([
    {
      node_name: node.name,
      node_api_config: {
        host: '0.0.0.0',
        port: Number(new URL(node.url).port),
        drop_privileges: true,
        experimental_features: true,
        max_upload_size: 10_485_760,
        intervals: { request_timeout: 10 },
        https: {
          enabled: node.url.startsWith('https:'),
          key: `${SSL}/server.key`,
          cert: `${SSL}/server.crt`,
          use_ca: false,
          ca: `${SSL}/ca.crt`,
          ssl_protocol: 'TLSv1.2',
          ssl_ciphers: '',
        },
        logs: { level: 'info', format: 'plain' },
        ...defaults,
        cache: { enabled: true, time: 0.75 },
        upload_configuration: {
          remote_commands: { localfile: allowed, wodle_command: allowed },
          limits: { eps: { allow: true } },
        },
      },
    },
  ])
}

const OWN_RULESET = /^etc\/(?:rules|decoders|lists)\//

/** Whether the node has the same own rules, decoders and lists as the master. */
function isRulesetSynced({ files }: SimNode, { nodes }: World): boolean {
  const master = nodes.find(({ type }) => type === 'master')?.files
  const names = [...files.keys(), ...(master?.keys() ?? [])].filter((name) => OWN_RULESET.test(name))
  return names.every((name) => files.get(name) === master?.get(name))
}

const readsNodes = [{ action: 'cluster:read', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }] as const
const restartsNodes = [
  { action: 'cluster:restart', type: 'node:id', named: { in: 'query', as: 'nodes_list' } },
] as const
const configTexts = {
  all: 'API configuration was successfully read in all specified nodes',
  some: 'Not all API configurations could be read',
  none: 'Could not read API configuration in any node',
}
const reloadTexts = {
  all: 'Reload request sent to all specified nodes',
  some: 'Could not send reload request to some specified nodes',
  none: 'Could not send reload request to any node',
}
const reload = ({ node }: Asked) => affected([{ name: node.name, msg: 'ok' }])

export const nodeStateCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/cluster/api/config',
    runs: 'nodes',
    needs: [{ action: 'cluster:read_api_config', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }],
    texts: configTexts,
    run: apiConfiguration,
  },
  {
    method: 'GET',
    path: '/manager/api/config',
    runs: 'here',
    needs: [{ action: 'cluster:read_api_config', type: 'node:id', named: 'node' }],
    texts: configTexts,
    run: apiConfiguration,
  },
  {
    method: 'GET',
    path: '/cluster/ruleset/synchronization',
    runs: 'nodes',
    needs: readsNodes,
    texts: {
      all: 'Nodes ruleset synchronization status was successfully read',
      some: 'Could not read ruleset synchronization status in some nodes',
      none: 'Could not read ruleset synchronization status',
    },
    run: ({ world, node }) => affected([{ name: node.name, synced: isRulesetSynced(node, world) }]),
  },
  {
    method: 'PUT',
    path: '/cluster/analysisd/reload',
    runs: 'nodes',
    needs: restartsNodes,
    texts: reloadTexts,
    run: reload,
  },
  {
    method: 'PUT',
    path: '/manager/analysisd/reload',
    runs: 'here',
    needs: [{ action: 'cluster:restart', type: 'node:id', named: 'node' }],
    texts: reloadTexts,
    run: reload,
  },
  {
    method: 'GET',
    path: '/manager/version/check',
    runs: 'master',
    needs: [],
    texts: NO_TEXTS,
    run: ({ world, node }) => ({
      kind: 'data',
      data: {
        uuid: '00000000-0000-4000-8000-000000000001',
        last_check_date: isoAt(world.now()),
        current_version: `v${node.version ?? world.version}`,
        update_check: true,
        last_available_major: {},
        last_available_minor: {},
        last_available_patch: {},
      },
    }),
  },
]
