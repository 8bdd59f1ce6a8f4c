/** The active configuration of a manager, by component and configuration, as its daemons report it. */
import type { SimNode, World } from '../../model.ts'
import { clusterSettings } from './cluster-settings.ts'
import {
  execdInternal,
  localfile,
  logcollectorInternal,
  modules,
  rootcheck,
  socket,
  syscheck,
  syscheckInternal,
} from './component-parts.ts'
import type { Daemon } from './daemons.ts'
import {
  agentless,
  commands,
  internalOfAnalysis,
  internalOfRemote,
  mail,
  monitor,
  registration,
  remote,
  virustotal,
} from './manager-parts.ts'

export interface Component {
  /** The daemon that answers; if it does not run, the error is 1117. */
  readonly daemon: Daemon
  readonly configurations: Readonly<Record<string, (node: SimNode, world: World) => unknown>>
}

function globalSettings({ type }: SimNode) {
  return {
    email_notification: type === 'master' ? 'yes' : 'no',
    logall: 'no',
    logall_json: 'no',
    integrity_checking: 8,
    rootkit_detection: 8,
    host_information: 8,
    prelude_output: 'no',
    zeromq_output: 'no',
    jsonout_output: 'yes',
    alerts_log: 'yes',
    stats: 4,
    memory_size: 8192,
    white_list: ['127.0.0.1', 'localhost.localdomain'],
    rotate_interval: 0,
    max_output_size: 0,
  }
}

/** Contains the key of the cluster. The daemon shows `disabled` as a word. */
function cluster(node: SimNode, world: World) {
  return { ...clusterSettings(world, node), disabled: 'no' }
}

/** The components of a manager. `agent` is a known name, but no manager has this component. */
export const components: Readonly<Record<string, Component>> = {
  agent: {
    daemon: 'ossec-reportd',
    configurations: { client: () => ({}), buffer: () => ({}), labels: () => ({}), internal: () => ({}) },
  },
  agentless: { daemon: 'ossec-agentlessd', configurations: { agentless: () => ({ agentless: [agentless] }) } },
  analysis: {
    daemon: 'ossec-analysisd',
    configurations: {
      global: (node) => ({ global: globalSettings(node) }),
      active_response: () => ({
        'active-response': [{ command: 'host-deny', location: 'local', level: 10, timeout: 600 }],
      }),
      alerts: () => ({ alerts: { email_alert_level: 12, log_alert_level: 3 } }),
      command: () => ({ command: commands }),
      internal: () => ({ internal: internalOfAnalysis }),
    },
  },
  auth: { daemon: 'ossec-authd', configurations: { auth: () => ({ auth: registration }) } },
  com: {
    daemon: 'ossec-execd',
    configurations: {
      'active-response': () => ({ 'active-response': { disabled: 'no', ca_verification: 'yes' } }),
      internal: () => ({ internal: execdInternal }),
      cluster: (node, world) => ({ cluster: cluster(node, world) }),
    },
  },
  csyslog: {
    daemon: 'ossec-csyslogd',
    configurations: {
      csyslog: () => ({ syslog_output: [{ server: '192.0.2.24', port: 514, level: 9, format: 'default' }] }),
    },
  },
  integrator: { daemon: 'ossec-integratord', configurations: { integration: () => ({ integration: [virustotal] }) } },
  logcollector: {
    daemon: 'ossec-logcollector',
    configurations: {
      localfile: () => ({ localfile }),
      socket: () => ({ target: socket }),
      internal: () => ({ internal: logcollectorInternal }),
    },
  },
  mail: {
    daemon: 'ossec-maild',
    configurations: {
      global: () => ({ global: mail }),
      alerts: () => ({ email_alerts: [{ email_to: 'operator@example.com', level: 4, format: 'do_not_delay' }] }),
      internal: () => ({ internal: { mail: { strict_checking: 1, grouping: 1, full_subject: 0, geoip: 1 } } }),
    },
  },
  monitor: { daemon: 'ossec-monitord', configurations: { internal: () => ({ monitord: monitor }) } },
  request: {
    daemon: 'ossec-remoted',
    configurations: { remote: () => ({ remote: [remote] }), internal: () => ({ internal: internalOfRemote }) },
  },
  syscheck: {
    daemon: 'ossec-syscheckd',
    configurations: {
      syscheck: () => ({ syscheck }),
      rootcheck: () => ({ rootcheck }),
      internal: () => ({ internal: syscheckInternal }),
    },
  },
  wmodules: {
    daemon: 'wazuh-modulesd',
    configurations: {
      wmodules: () => ({
        wmodules: [...modules, { database: { sync_agents: 'yes', sync_rootcheck: 'yes', interval: 60 } }],
      }),
    },
  },
}
