/** What a node or an agent is set to: the main configuration by sections, and the active one of each daemon. */
import { statusOf } from '../agent-state.ts'
import {
  execdInternal,
  localfile,
  logcollectorInternal,
  modules,
  rootcheck,
  socket,
  syscheck,
  syscheckInternal,
} from '../data/node/component-parts.ts'
import { components } from '../data/node/components.ts'
import { isUsed } from '../data/node/daemons.ts'
import { decodersOf, rulesOf } from '../data/ruleset.ts'
import { isSection, readSettings, type Settings } from '../data/settings.ts'
import { FrameworkError, type SimAgent, type SimHandlers, type SimNode, type SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'
import { findAgent } from './agents.ts'

function settingsOf({ files }: SimNode): Settings {
  try {
    return readSettings(files.get('etc/ossec.conf') ?? '')
  } catch {
    throw refusal(1101)
  }
}

/** The whole, a section, or one option of it. */
function mainConfiguration({ node, query }: SimRequest): unknown {
  const settings = settingsOf(node)
  const { section, field } = query
  if (section === undefined) return settings
  if (!isSection(section)) throw new FrameworkError(1102, 'Invalid section')
  const found = settings[section]
  if (found === undefined) throw new FrameworkError(1106, 'Requested section not present in configuration')
  if (field === undefined) return found
  if (Array.isArray(found) || !Object.hasOwn(found, field)) throw new FrameworkError(1103, 'Invalid field in section')
  return (found as Readonly<Record<string, unknown>>)[field]
}

/** OK, or KO and why; the files are looked into only now, not when they are put. */
function validation({ node }: SimRequest): { status: string; details?: string[] } {
  const details: string[] = []
  for (const check of [() => settingsOf(node), () => rulesOf(node.files), () => decodersOf(node.files)]) {
    try {
      check()
    } catch (fault) {
      details.push(fault instanceof Error ? fault.message : String(fault))
    }
  }
  return details.length === 0 ? { status: 'OK' } : { status: 'KO', details }
}

function managerConfig({ node, world, params }: SimRequest): unknown {
  const component = Object.hasOwn(components, params.component ?? '') ? components[params.component ?? ''] : undefined
  if (component === undefined) throw refusal(1101)
  const { daemon, configurations } = component
  const { configuration = '' } = params
  if (!Object.hasOwn(configurations, configuration)) throw refusal(1116)
  if (!isUsed(daemon, node.type)) throw refusal(1117)
  return configurations[configuration]?.(node, world)
}

const client = {
  'config-profile': 'ubuntu, ubuntu18, ubuntu18.04',
  notify_time: 10,
  'time-reconnect': 60,
  auto_restart: 'yes',
  remote_conf: 'yes',
  crypto_method: 'aes',
  server: [{ address: '10.0.0.10', port: 1514, protocol: 'udp' }],
}

const labels = [
  { value: 'i-052a1838c', key: 'aws.instance-id', hidden: 'no' },
  { value: 'January 1st, 2020', key: 'installation', hidden: 'yes' },
]

const agentInternal = { agent: { tolerance: 15, warn_level: 90, normal_level: 70, min_eps: 50, state_interval: 5 } }

/** The components of an agent (seed). */
const agentComponents: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  agent: {
    client: { client },
    buffer: { buffer: { disabled: 'no', queue_size: 5000, events_per_second: 500 } },
    labels: { labels },
    internal: { internal: agentInternal },
  },
  com: {
    'active-response': {
      'active-response': { disabled: 'no', ca_store: ['/var/ossec/etc/wpk_root.pem'], ca_verification: 'yes' },
    },
    internal: { internal: execdInternal },
  },
  logcollector: {
    localfile: { localfile },
    socket: { target: socket },
    internal: { internal: logcollectorInternal },
  },
  syscheck: { syscheck: { syscheck }, rootcheck: { rootcheck }, internal: { internal: syscheckInternal } },
  wmodules: { wmodules: { wmodules: modules } },
}

/**
 * What an agent is set to. The caller sees to it that the agent is active. 1735 for an agent too old to tell,
 * 1101 and 1116 for what is not known, 1117 for the manager itself, which has no agent daemon.
 */
export function agentConfig(agent: SimAgent, component: string, configuration: string): unknown {
  const [major = 0, minor = 0] = (agent.version ?? '').replace(/^\D*/, '').split('.').map(Number)
  if (major < 3 || (major === 3 && minor < 7)) throw refusal(1735)
  const known = Object.hasOwn(agentComponents, component) ? agentComponents[component] : undefined
  if (known === undefined) throw refusal(1101)
  if (!Object.hasOwn(known, configuration)) throw refusal(1116)
  if (agent.id === '000' && component === 'agent') throw refusal(1117)
  return known[configuration]
}

function askAgent({ world, params }: SimRequest): unknown {
  const agent = findAgent(world, params.agent_id)
  if (statusOf(agent, world.now()) !== 'Active') throw refusal(1740)
  return agentConfig(agent, params.component ?? '', params.configuration ?? '')
}

export const configurationHandlers: SimHandlers = {
  'GET /manager/configuration': mainConfiguration,
  'GET /manager/configuration/validation': validation,
  'GET /cluster/configuration/validation': validation,
  'GET /manager/config/:component/:configuration': managerConfig,
  'GET /agents/:agent_id/config/:component/:configuration': askAgent,
}
