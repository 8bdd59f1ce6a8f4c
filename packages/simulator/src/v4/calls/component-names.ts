/** The components and configurations that the API knows. */

/** The configurations of each component; other combinations are refused with 1128. */
export const CONFIGURATIONS_OF: Readonly<Record<string, readonly string[]>> = {
  agent: ['client', 'buffer', 'labels', 'internal'],
  agentless: ['agentless'],
  analysis: ['rule_test', 'command', 'global', 'active_response', 'alerts', 'decoders', 'internal', 'rules'],
  auth: ['auth'],
  com: ['active-response', 'internal', 'cluster', 'logging'],
  csyslog: ['csyslog'],
  integrator: ['integration'],
  logcollector: ['localfile', 'socket', 'internal'],
  mail: ['global', 'alerts', 'internal'],
  monitor: ['internal', 'global', 'reports'],
  request: ['global', 'remote', 'internal'],
  syscheck: ['syscheck', 'rootcheck', 'internal'],
  'wazuh-db': ['internal', 'wdb'],
  wmodules: ['wmodules'],
}
