/** Parses the main configuration into the sections of `GET /manager/configuration`. */
import { elements, isElement, parseXml, textOf, type XmlElement } from './xml.ts'

/** A text, an object, or a list of these. */
export type Setting = string | readonly Setting[] | { readonly [name: string]: Setting }

export type Settings = Readonly<Record<string, Readonly<Record<string, Setting>> | readonly Setting[]>>

interface Section {
  /** `each`: every block is an element of a list; `merge`: later blocks add to and overwrite earlier ones. */
  readonly blocks: 'each' | 'merge'
  /** Options that are always lists. */
  readonly lists?: readonly string[]
}

const EACH: Section = { blocks: 'each' }
const MERGE: Section = { blocks: 'merge' }

/** The sections that the manager knows; it ignores others. */
const sections: Readonly<Record<string, Section>> = {
  'active-response': EACH,
  agentless: EACH,
  command: EACH,
  integration: EACH,
  localfile: EACH,
  remote: EACH,
  syslog_output: EACH,
  alerts: MERGE,
  auth: MERGE,
  client: MERGE,
  cluster: { blocks: 'merge', lists: ['nodes'] },
  database_output: MERGE,
  email_alerts: MERGE,
  global: { blocks: 'merge', lists: ['white_list'] },
  labels: EACH,
  'cis-cat': { blocks: 'merge', lists: ['content'] },
  'open-scap': { blocks: 'merge', lists: ['content'] },
  osquery: { blocks: 'merge', lists: ['pack'] },
  reports: MERGE,
  rootcheck: { blocks: 'merge', lists: ['rootkit_files', 'rootkit_trojans', 'system_audit'] },
  ruleset: {
    blocks: 'merge',
    lists: ['decoder', 'decoder_dir', 'decoder_exclude', 'include', 'list', 'rule', 'rule_dir', 'rule_exclude'],
  },
  sca: { blocks: 'merge', lists: ['policies'] },
  syscheck: { blocks: 'merge', lists: ['directories', 'ignore', 'nodiff'] },
  syscollector: MERGE,
  'vulnerability-detector': { blocks: 'merge', lists: ['feed', 'provider'] },
}

/** The sections that release 5.0 knows besides. */
const sectionsOf5: typeof sections = { ...sections, logging: MERGE, indexer: MERGE, 'vulnerability-detection': MERGE }

export function isSection(name: string): boolean {
  return Object.hasOwn(sections, name)
}

/** Returns the sections of the text in order. Throws an Error if the text is not well-formed. */
export function readSettings(text: string): Settings {
  const settings: Record<string, Record<string, Setting> | Setting[]> = {}
  const roots = parseXml(text)
  const later = elements(roots, 'wazuh_config')
  const [known, blocks] = later.length > 0 ? [sectionsOf5, later] : [sections, elements(roots, 'ossec_config')]
  for (const block of elements(blocks.flatMap(({ children }) => children))) {
    const name = block.name === 'wodle' ? (block.attributes.name ?? '') : block.name
    const section = known[name]
    if (section === undefined || !Object.hasOwn(known, name)) continue
    const before = settings[name]
    if (section.blocks === 'each') {
      const list = Array.isArray(before) ? before : []
      list.push(readBlock(block, [], {}))
      settings[name] = list
    } else {
      settings[name] = readBlock(block, section.lists ?? [], Array.isArray(before) ? {} : (before ?? {}))
    }
  }
  return settings
}

/** Adds the options of a block. Options without a value are omitted, as in the manager. */
function readBlock(
  block: XmlElement,
  lists: readonly string[],
  before: Record<string, Setting>,
): Record<string, Setting> {
  const options = before
  for (const option of elements(block.children)) {
    if (lists.includes(option.name)) {
      const list = options[option.name]
      options[option.name] = [...(Array.isArray(list) ? (list as Setting[]) : []), ...readMembers(option)]
    } else {
      const value = readOption(option)
      if (value !== '') options[option.name] = value
    }
  }
  return options
}

/** Returns the members that one option adds to its list: comma-separated paths, or child elements. */
function readMembers(option: XmlElement): Setting[] {
  if (option.name === 'directories') {
    return textOf(option)
      .split(',')
      .map((path) => ({ ...option.attributes, path: path.trim() }))
  }
  if (option.name === 'nodes' || option.name === 'policies') return elements(option.children).map(textOf)
  return [readOption(option)]
}

function readOption(option: XmlElement): Setting {
  const hasAttributes = Object.keys(option.attributes).length > 0
  if (option.children.some(isElement)) return { ...option.attributes, ...readBlock(option, [], {}) }
  return hasAttributes ? { ...option.attributes, item: textOf(option) } : textOf(option)
}
