/** The main configuration of nodes: read, written and validated. */
import { decodersOf, rulesOf } from '../../data/ruleset.ts'
import { readSettings, type Setting } from '../../data/settings.ts'
import { parseXml } from '../../data/xml.ts'
import type { SimNode } from '../../model.ts'
import { type Answer, affected } from '../answers.ts'
import { V4Error } from '../errors.ts'
import type { Asked } from '../model.ts'
import { isTrue } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { ofNode } from './manager.ts'

const MAIN = 'etc/ossec.conf'

/** Sections that no manager takes. */
const NOT_OF_MANAGERS = ['client_buffer']

type Section = Readonly<Record<string, Setting>> | readonly Setting[]

/** Forms of sections that differ from the v3 layout; undefined: the v4 one has no such section. */
const v4Forms: Readonly<Record<string, (section: Section) => Section | undefined>> = {
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
    return without(section, ['check_files', 'check_trojans', 'check_ports', 'check_if'])
  },
  auth: (section) => {
    const rest = without(section, ['force_insert', 'force_time', 'limit_maxagents'])
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

function without(section: Section, names: readonly string[]): Record<string, Setting> {
  return Object.fromEntries(Object.entries(optionsOf(section)).filter(([name]) => !names.includes(name)))
}

function each(section: Section, change: (block: Record<string, Setting>) => Record<string, Setting>): Section {
  return Array.isArray(section) ? section.map((block) => change({ ...(block as Record<string, Setting>) })) : section
}

/** Forms of sections in release 5.0. */
const formsOf5: typeof v4Forms = {
  remote: (section) =>
    each(section, ({ legacy, agents, ...rest }) => ({
      ...rest,
      ...withList('legacy', legacy, 'protocol'),
      ...withList('agents', agents, 'allow_higher_versions'),
    })),
}

function withList(name: string, block: Setting | undefined, option: string): Record<string, Setting> {
  if (typeof block !== 'object' || Array.isArray(block)) return {}
  const options = optionsOf(block as Section)
  return { [name]: { ...options, [option]: String(options[option] ?? '').split(',') } }
}

function settingsOf(text: string, forms = v4Forms): Record<string, Section> {
  const sections = Object.entries(readSettings(text))
  return Object.fromEntries(
    sections.flatMap(([name, section]) => {
      const shown = forms[name] === undefined ? section : forms[name](section)
      return shown === undefined ? [] : [[name, shown]]
    }),
  )
}

/** What release 5.0 shows in place of the key of the cluster to users who may not change the configuration. */
export const HIDDEN = '*****'

export function mayReadKey({ rights, node }: Asked): boolean {
  return rights.may('cluster:update_config', 'node:id', node.name)
}

/** Returns the text of the main configuration as the user may see it. */
function shownText(asked: Asked): string {
  const text = asked.node.files.get(MAIN) ?? ''
  if (!hasRelease5(asked) || mayReadKey(asked)) return text
  const { key } = optionsOf(settingsOf(text).cluster ?? {})
  return typeof key === 'string' ? text.replaceAll(`<key>${key}</key>`, `<key>${HIDDEN}</key>`) : text
}

/** A field without a section has no effect. */
export function read(asked: Asked): Answer {
  const { query } = asked
  const text = shownText(asked)
  if (isTrue(query.raw)) return { kind: 'file', type: 'application/xml', text }
  const settings = settingsOf(text, hasRelease5(asked) ? formsOf5 : v4Forms)
  const { section, field } = query
  if (section === undefined) return affected([settings])
  if (NOT_OF_MANAGERS.includes(section)) throw new V4Error(1102, section)
  const found = settings[section]
  if (found === undefined) throw new V4Error(1106, section)
  if (field === undefined) return affected([{ [section]: found }])
  const values = (Array.isArray(found) ? found : [found]).map((block) => optionsOf(block as Section)[field])
  if (values.every((value) => value === undefined)) throw new V4Error(1103)
  return affected([{ [section]: { [field]: Array.isArray(found) ? values : values[0] } }])
}

/** Rules are not checked when they are uploaded, so a bad rule makes each write of the configuration fail. */
function validate(node: SimNode): void {
  const faults: string[] = []
  for (const check of [
    () => settingsOf(node.files.get(MAIN) ?? ''),
    () => rulesOf(node.files),
    () => decodersOf(node.files),
  ]) {
    try {
      check()
    } catch (fault) {
      faults.push(fault instanceof Error ? fault.message : String(fault))
    }
  }
  if (faults.length > 0) throw new V4Error(1908, faults.join(', '))
}

export function write({ node, text: content }: Asked): Answer {
  if (content === '') throw new V4Error(1912)
  return ofNode(() => {
    try {
      parseXml(content)
    } catch {
      throw new V4Error(1113)
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

export const validation = ofNode(({ node }) => {
  validate(node)
  return affected([{ name: node.name, status: 'OK' }])
})
