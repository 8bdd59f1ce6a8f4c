/** The active configuration of an agent, as the agent reports it to its node. */
import { statusOf } from '../agent-state.ts'
import type { SimAgent, SimHandlers, SimRequest, World } from '../model.ts'
import { refusal } from '../texts.ts'
import { findAgent } from './agents.ts'
import { managerConfig } from './configuration.ts'

type Configuration = (agent: SimAgent, world: World) => unknown

function client(agent: SimAgent, world: World) {
  const server = world.nodes.find((node) => node.name === agent.node)
  const { platform = 'unknown', major = '' } = agent.os ?? {}
  return {
    'config-profile': `${platform}, ${platform}${major}`,
    notify_time: 10,
    'time-reconnect': 60,
    auto_restart: 'yes',
    remote_conf: 'yes',
    crypto_method: 'aes',
    server: [{ address: server?.ip ?? '', port: 1514, protocol: 'udp' }],
  }
}

function localFiles(agent: SimAgent) {
  const rest = { ignore_binaries: 'no', target: ['agent'], 'only-future-events': 'yes' }
  if (agent.os?.platform === 'windows') {
    return [{ logformat: 'eventchannel', file: 'Security', ...rest }]
  }
  return [
    { logformat: 'syslog', file: '/var/log/messages', ...rest },
    { logformat: 'command', command: 'df -P', alias: 'df -P', frequency: 360, ...rest },
  ]
}

function syscheck(agent: SimAgent) {
  const folders = agent.os?.platform === 'windows' ? ['C:\\Windows\\System32\\drivers\\etc'] : ['/etc', '/usr/bin']
  const opts = ['check_md5sum', 'check_sha1sum', 'check_perm', 'check_size', 'check_owner', 'check_mtime']
  return {
    disabled: 'no',
    frequency: 43_200,
    skip_nfs: 'yes',
    scan_on_start: 'yes',
    directories: folders.map((dir) => ({ opts, dir, recursion_level: 256 })),
    ignore: ['/etc/mtab', '/etc/hosts.deny'],
    whodata: { restart_audit: 'yes', startup_healthcheck: 'yes' },
  }
}

const rootcheck = { disabled: 'no', scanall: 'no', skip_nfs: 'yes', frequency: 43_200, check_files: 'yes' }
const modules = [
  { 'open-scap': { disabled: 'yes', 'scan-on-start': 'yes', interval: 86_400, timeout: 1800 } },
  { 'cis-cat': { disabled: 'yes', 'scan-on-start': 'yes', interval: 86_400, timeout: 1800 } },
  { syscollector: { disabled: 'no', 'scan-on-start': 'yes', interval: 3600, hardware: 'yes', packages: 'yes' } },
  { sca: { enabled: 'yes', scan_on_start: 'yes', skip_nfs: 'yes', interval: 43_200 } },
]

/** The components and the configurations of each. */
const components: Readonly<Record<string, Readonly<Record<string, Configuration>>>> = {
  agent: {
    client,
    buffer: () => ({ disabled: 'no', queue_size: 5000, events_per_second: 500 }),
    labels: (agent) => [{ value: agent.groups.join(), key: 'groups', hidden: 'no' }],
    internal: () => ({ agent: { tolerance: 15, min_eps: 50 } }),
  },
  com: {
    'active-response': () => ({ disabled: 'no', ca_verification: 'yes' }),
    internal: () => ({ execd: { request_timeout: 60, max_restart_lock: 600 } }),
  },
  logcollector: {
    localfile: localFiles,
    socket: () => [],
    internal: () => ({ logcollector: { loop_timeout: 2, open_attempts: 8, debug: 0 } }),
  },
  syscheck: {
    syscheck,
    rootcheck: () => rootcheck,
    internal: () => ({ syscheck: { sleep: 1, sleep_after: 100, debug: 0 } }),
  },
  wmodules: { wmodules: () => modules },
}

/** The first agent version that reports its configuration. */
const SINCE = [3, 7] as const

/** Checks in this order, as recorded: unknown agent, not active, too old, unknown component. */
function activeConfiguration(request: SimRequest): unknown {
  const { world, node, params } = request
  const { component = '', configuration = '' } = params
  const agent = findAgent(world, params.agent_id)
  // The manager runs the same components except those of the agent.
  if (agent.id === '000' && component === 'agent') throw refusal(1117)
  if (agent.id === '000') return managerConfig(request)
  if (statusOf(agent, world.now()) !== 'Active') throw refusal(1740)
  if (isTooOld(agent)) throw refusal(1735)
  // The agent is connected to another node (recorded on a master without distribution).
  if (agent.node !== node.name) throw refusal(1117)
  const known = components[component]
  if (known === undefined) throw refusal(1101)
  const configure = known[configuration]
  if (configure === undefined) throw refusal(1116)
  return { [configuration]: configure(agent, world) }
}

function isTooOld({ version = '' }: SimAgent): boolean {
  const [, major = 0, minor = 0] = (/v(\d+)\.(\d+)/.exec(version) ?? []).map(Number)
  return major < SINCE[0] || (major === SINCE[0] && minor < SINCE[1])
}

export const agentConfigHandlers: SimHandlers = {
  'GET /agents/:agent_id/config/:component/:configuration': activeConfiguration,
}
