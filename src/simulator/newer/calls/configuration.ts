/** The main configuration of nodes, its validation, and the restart of nodes. */
import { decodersOf, rulesOf } from '../../data/ruleset.ts'
import { readSettings, type Setting } from '../../data/settings.ts'
import { parseXml } from '../../data/xml.ts'
import type { SimNode } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { NewerError } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { choice, flag, isTrue, nodesList, text } from '../parameters.ts'
import { bothOf, ofNode } from './manager.ts'

const MAIN = 'etc/ossec.conf'

const SECTIONS = [
  ...['active-response', 'agentless', 'alerts', 'auth', 'client', 'client_buffer', 'cluster', 'command'],
  ...['database_output', 'email_alerts', 'global', 'integration', 'labels', 'localfile', 'logging', 'remote'],
  ...['reports', 'rootcheck', 'ruleset', 'sca', 'socket', 'syscheck', 'syslog_output', 'aws-s3', 'azure-logs'],
  ...['cis-cat', 'docker-listener', 'open-scap', 'osquery', 'syscollector', 'vulnerability-detector'],
]

/** Sections that no manager takes. */
const NOT_OF_MANAGERS = ['client_buffer']

type Section = Readonly<Record<string, Setting>> | readonly Setting[]

/** Forms of sections that differ from the classic layout; undefined: the newer one has no such section. */
const newerForms: Readonly<Record<string, (section: Section) => Section | undefined>> = {
  remote: (section) =>
    each(section, ({ queue_size: _, protocol, ...rest }) => {
      return { ...rest, ...(protocol === undefined ? {} : { protocol: String(protocol).split(',') }) }
    }),
  command: (section) => each(section, ({ expect: _, ...rest }) => rest),
  global: (section) => ({
    ...optionsOf(section),
    agents_disconnection_time: '10m',
    agents_disconnection_alert_time: '0',
  }),
  syscheck: (section) => ({ ...optionsOf(section), auto_ignore: 'no', skip_dev: 'yes', process_priority: '10' }),
  'open-scap': () => undefined,
  rootcheck: (section) => {
    const { check_files: _, check_trojans: __, check_ports: ___, check_if: ____, ...rest } = optionsOf(section)
    return rest
  },
  auth: (section) => {
    const { force_insert: _, force_time: __, limit_maxagents: ___, ...rest } = optionsOf(section)
    const disconnected = { enabled: 'yes', item: '1h' }
    const force = {
      enabled: 'yes',
      key_mismatch: 'yes',
      disconnected_time: disconnected,
      after_registration_time: '1h',
    }
    return { ...rest, force }
  },
}

function optionsOf(section: Section): Record<string, Setting> {
  return Array.isArray(section) ? {} : { ...(section as Readonly<Record<string, Setting>>) }
}

function each(section: Section, change: (block: Record<string, Setting>) => Record<string, Setting>): Section {
  return Array.isArray(section) ? section.map((block) => change({ ...(block as Record<string, Setting>) })) : section
}

function settingsOf({ files }: SimNode): Record<string, Section> {
  const sections = Object.entries(readSettings(files.get(MAIN) ?? ''))
  return Object.fromEntries(
    sections.flatMap(([name, section]) => {
      const shown = newerForms[name] === undefined ? section : newerForms[name](section)
      return shown === undefined ? [] : [[name, shown]]
    }),
  )
}

/** A field without a section has no effect. */
function read({ node, query }: Asked): Answer {
  if (isTrue(query.raw)) return { kind: 'file', type: 'application/xml', text: node.files.get(MAIN) ?? '' }
  const settings = settingsOf(node)
  const { section, field } = query
  if (section === undefined) return affected([settings])
  if (NOT_OF_MANAGERS.includes(section)) throw new NewerError(1102, section)
  const found = settings[section]
  if (found === undefined) throw new NewerError(1106, section)
  if (field === undefined) return affected([{ [section]: found }])
  const values = (Array.isArray(found) ? found : [found]).map((block) => optionsOf(block as Section)[field])
  if (values.every((value) => value === undefined)) throw new NewerError(1103)
  return affected([{ [section]: { [field]: Array.isArray(found) ? values : values[0] } }])
}

/** Rules are not checked when they are uploaded, so a bad rule makes each write of the configuration fail. */
function validate(node: SimNode): void {
  const faults: string[] = []
  for (const check of [() => settingsOf(node), () => rulesOf(node.files), () => decodersOf(node.files)]) {
    try {
      check()
    } catch (fault) {
      faults.push(fault instanceof Error ? fault.message : String(fault))
    }
  }
  if (faults.length > 0) throw new NewerError(1908, faults.join(', '))
}

function write({ node, text: content }: Asked): Answer {
  if (content === '') throw new NewerError(1912)
  return ofNode(() => {
    try {
      parseXml(content)
    } catch {
      throw new NewerError(1113)
    }
    const before = node.files.get(MAIN)
    node.files.set(MAIN, content)
    try {
      validate(node)
    } catch (error) {
      if (before !== undefined) node.files.set(MAIN, before)
      throw error
    }
    return affected([node.name])
  })({ node } as Asked)
}

const validation = ofNode(({ node }) => {
  validate(node)
  return affected([{ name: node.name, status: 'OK' }])
})

/** Responds at once; the node is not ready for a while. */
function restart({ world, node }: Asked): Answer {
  node.restarts += 1
  node.startedAt = new Date(world.now().getTime() + (world.restartTakes ?? 0))
  return affected([node.name])
}

const nodeNeed = (action: 'read' | 'update_config' | 'restart', named: 'node' | 'nodes_list') => {
  const where = named === 'node' ? named : ({ in: 'query', as: named } as const)
  return [{ action: `cluster:${action}`, type: 'node:id', named: where } as const]
}
const validationTexts = {
  all: 'Validation was successfully checked in all nodes',
  some: 'Could not check validation in some nodes',
  none: 'Could not check validation in any node',
}
const restartTexts = {
  all: 'Restart request sent to  all specified nodes',
  some: 'Could not send restart request to some specified nodes',
  none: 'Could not send restart request to any node',
}
const updated = {
  all: 'Configuration was successfully updated in specified node',
  some: 'Could not update configuration in some nodes',
  none: 'Could not update configuration in specified node',
}
const put = {
  method: 'PUT',
  body: { type: 'application/octet-stream' },
  needs: nodeNeed('update_config', 'node'),
} as const

export const configurationCalls: readonly Call[] = [
  ...bothOf({
    path: '/configuration',
    query: { section: choice(...SECTIONS), field: text('names'), raw: flag },
    texts: {
      all: 'Configuration was successfully read in specified node',
      some: 'Could not read configuration in some nodes',
      none: 'Could not read configuration in specified node',
    },
    run: ofNode(read),
  }),
  { ...put, path: '/manager/configuration', runs: 'here', texts: updated, run: write },
  {
    ...put,
    path: '/cluster/{node_id}/configuration',
    params: { node_id: text('names') },
    runs: 'node',
    texts: updated,
    run: write,
  },
  {
    method: 'GET',
    path: '/manager/configuration/validation',
    runs: 'here',
    needs: nodeNeed('read', 'node'),
    texts: validationTexts,
    cost: 800,
    run: validation,
  },
  {
    method: 'GET',
    path: '/cluster/configuration/validation',
    query: { nodes_list: nodesList },
    runs: 'nodes',
    needs: nodeNeed('read', 'nodes_list'),
    texts: validationTexts,
    cost: 800,
    run: validation,
  },
  {
    method: 'PUT',
    path: '/manager/restart',
    runs: 'here',
    needs: nodeNeed('restart', 'node'),
    texts: restartTexts,
    // A second order during a restart is accepted.
    duringRestart: true,
    run: restart,
  },
  {
    method: 'PUT',
    path: '/cluster/restart',
    query: { nodes_list: nodesList },
    runs: 'nodes',
    needs: nodeNeed('restart', 'nodes_list'),
    texts: restartTexts,
    duringRestart: true,
    run: restart,
  },
]
