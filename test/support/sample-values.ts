/** Legal values for parameters and bodies of every endpoint, for objects that a simulated cluster has. */
import type { Kind } from '../../src/contracts/schemas/kinds.ts'

/** A legal value for each name in a path; agents and groups that the simulated cluster has. */
export const pathValues: Readonly<Record<string, string>> = {
  agent_id: '1',
  agent_name: 'newcomer',
  group_id: 'default',
  filename: 'agent.conf',
  file_name: 'agent.conf',
  node_id: 'worker-1',
  node_ids: '*',
  node_name: 'worker-1',
  component: 'analysis',
  configuration: 'global',
  rule_id: '5710',
  decoder_name: 'sshd',
  policy_id: 'cis_debian',
  group: 'agents',
}

/** Values in paths of single endpoints, where the value above is not valid. */
export const pathsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'GET /agents/:agent_id/config/:component/:configuration': { component: 'agent', configuration: 'client' },
  'PUT /agents/:agent_name': { agent_name: 'by-name' },
  'PUT /agents/groups/:group_id': { group_id: 'fresh' },
  'DELETE /agents/groups/:group_id': { group_id: 'fresh' },
}

const byKind: Partial<Record<Kind, string>> = {
  numbers: '1',
  array_numbers: '1,002',
  names: 'default',
  array_names: 'web',
  paths: 'etc/rules',
  dates: '20200101',
  ips: 'any',
  alphanumeric: 'a b',
  sort: '-id',
  search: 'a',
  select: 'id',
  ranges: '2-5',
  hashes: 'd41d8cd98f00b204e9800998ecf8427e',
  timeframe: '7d',
  empty_boolean: 'true',
  yes_no: 'no',
  boolean: 'true',
  query: 'id>1;id<9',
  format: 'json',
  flag: '',
}

const byName: Readonly<Record<string, string>> = {
  path: 'etc/rules/local_rules.xml',
  wpk_repo: 'packages.wazuh.com/wpk/',
  file_path: '/var/ossec/var/upgrade/x.wpk',
  section: 'global',
  installer: 'upgrade.sh',
}

/** Bodies of all endpoints with fields. */
export const bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'PUT /active-response/:agent_id': { command: '!restart.sh', custom: true, arguments: ['a'] },
  'POST /agents': { name: 'by-journey', ip: '10.9.9.9', force: 1 },
  'POST /agents/insert': { name: 'inserted', ip: '10.9.9.8', id: '77', key: 'a'.repeat(64) },
  'POST /agents/restart': { ids: ['1', '002'] },
  'POST /agents/group/:group_id': { ids: ['2'] },
}

export const UPLOAD = '<agent_config></agent_config>'

/** Returns a legal value of a query parameter. */
export function sampleOf(name: string, kind: string): string {
  return byName[name] ?? byKind[kind as Kind] ?? 'a'
}
