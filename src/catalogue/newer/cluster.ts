/** Translations of the cluster as a whole. */
import type { FieldRule, Translation } from './translation.ts'

/** A worker would answer about itself. */
export const config: Translation = {
  call: { path: '/cluster/local/config', elsewhere: { path: '{node}/configuration/com/cluster' } },
  response: { kind: 'one' },
}

export const status: Translation = {
  call: { path: '/cluster/status' },
  response: { kind: 'object' },
}

const precise: FieldRule = { value: 'preciseDate' }

/**
 * The newer layout finds nodes by their whole names only. It synchronises agents in chunks and counts these, and it checks
 * the integrity of files and the groups of agents in further rounds.
 */
export const healthcheck: Translation = {
  call: { path: '/cluster/healthcheck', params: { node: { as: 'nodes_list' } } },
  response: {
    kind: 'own',
    shape: 'health',
    rows: {
      fields: {
        'status.last_check_integrity': { dropped: true },
        'status.last_sync_full_agentgroup': { dropped: true },
        'status.last_sync_integrity.date_start_master': precise,
        'status.last_sync_integrity.date_end_master': precise,
        'status.last_sync_integrity.total_extra_valid': { dropped: true },
        'status.sync_agent_info_free': { to: 'status.sync_agentinfo_free' },
        'status.last_sync_agentinfo.date_start_master': precise,
        'status.last_sync_agentinfo.date_end_master': precise,
        'status.last_sync_agentinfo.n_synced_chunks': { to: 'status.last_sync_agentinfo.total_agentinfo' },
        'status.last_sync_agentgroup.date_start': { to: 'status.last_sync_agentgroups.date_start_master', ...precise },
        'status.last_sync_agentgroup.date_end': { to: 'status.last_sync_agentgroups.date_end_master', ...precise },
        'status.last_sync_agentgroup.n_synced_chunks': { to: 'status.last_sync_agentgroups.total_agentgroups' },
        'status.last_sync_agentgroup': { dropped: true },
        'status.last_keep_alive': precise,
      },
    },
  },
}

export const node: Translation = {
  call: { path: '/cluster/local/info' },
  response: { kind: 'own', shape: 'localNode' },
}

export const nodes: Translation = {
  call: { path: '/cluster/nodes', params: { type: { omitted: ['all'] } } },
  response: { kind: 'collection', rows: { source: 'nodes' } },
  refused: { type: 1728 },
}

export const namedNode: Translation = {
  call: { path: '/cluster/nodes', fixed: { nodes_list: ':node_name' }, params: { select: { ignored: true } } },
  response: { kind: 'one' },
  errors: { 1730: 1730 },
}

export const validation: Translation = {
  call: { path: '/cluster/configuration/validation' },
  plan: 'verdict',
  response: { kind: 'one' },
}

export const restart: Translation = {
  call: { path: '/cluster/restart', endless: true },
  plan: 'restart',
  response: { kind: 'text', text: 'Restart request sent' },
}
