/** The components and configurations that the API knows. */
import { choice } from '../parameters.ts'

const COMPONENTS = [
  ...['agent', 'agentless', 'analysis', 'auth', 'com', 'csyslog', 'integrator', 'logcollector', 'mail', 'monitor'],
  ...['request', 'syscheck', 'wazuh-db', 'wmodules'],
]

const CONFIGURATIONS = [
  ...['client', 'buffer', 'labels', 'internal', 'agentless', 'global', 'active_response', 'alerts', 'command', 'rules'],
  ...['decoders', 'auth', 'logging', 'reports', 'active-response', 'cluster', 'csyslog', 'integration', 'localfile'],
  ...['socket', 'remote', 'syscheck', 'rootcheck', 'wdb', 'wmodules', 'rule_test'],
]

export const activeConfigurationParams = {
  component: choice(...COMPONENTS),
  configuration: choice(...CONFIGURATIONS),
}

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
