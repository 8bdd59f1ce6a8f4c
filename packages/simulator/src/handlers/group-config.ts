/** The shared files of a group: list, parse, and write agent.conf. */

import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { collect } from '../data/collect.ts'
import { elements, indent, parseXml, textOf, type XmlElement } from '../data/xml.ts'
import { digest, filesOf } from '../group-files.ts'
import type { SimHandlers, SimRequest } from '../model.ts'
import { refusal } from '../texts.ts'
import { parseRootkitFiles, parseRootkitTrojans, parseTests } from './group-texts.ts'
import { findGroup } from './groups.ts'

const CONF = 'agent.conf'

function list({ world, params, query }: SimRequest) {
  const { hash, ...rest } = query
  const files = [...filesOf(findGroup(world, params.group_id))]
  const rows = files.map(([filename, text]) => ({ filename, hash: digest(text, hash) }))
  return collect(rows, parseCollectionRequest(rest, world.now()), sources.groupFiles)
}

/** Returns one item for each `agent_config` block with its attributes and sections. */
export function parseConf(text: string) {
  return elements(parseXml(text), 'agent_config').map((block) => ({
    filters: { ...block.attributes },
    config: sectionsOf(block),
  }))
}

/** Repeatable sections are lists; the options of other sections are merged into one object. */
const repeated = new Set(['localfile', 'command', 'active-response', 'socket', 'wodle', 'labels'])
/** Sections that agents accept from a group. */
export const AGENT_SECTIONS = new Set([
  ...repeated,
  ...['syscheck', 'rootcheck', 'client_buffer', 'open-scap', 'cis-cat', 'syscollector', 'osquery', 'sca'],
])

function sectionsOf(block: XmlElement): Record<string, unknown> {
  const config: Record<string, unknown> = {}
  for (const section of elements(block.children)) {
    const { name } = section
    const before = config[name]
    if (repeated.has(name)) config[name] = [...(Array.isArray(before) ? before : []), optionsOf(section)]
    else config[name] = { ...(typeof before === 'object' ? before : {}), ...optionsOf(section) }
  }
  return config
}

/** A single option is its text; a repeated option is a list, and one with attributes an object. */
function optionsOf(section: XmlElement): Record<string, unknown> {
  const options: Record<string, unknown> = { ...section.attributes }
  for (const option of elements(section.children)) {
    const value = optionValue(option)
    const before = options[option.name]
    if (before === undefined) options[option.name] = value
    else options[option.name] = [...(Array.isArray(before) ? before : [before]), value]
  }
  return options
}

function optionValue(option: XmlElement): unknown {
  if (elements(option.children).length > 0) return optionsOf(option)
  if (Object.keys(option.attributes).length === 0) return textOf(option)
  return { ...option.attributes, item: textOf(option) }
}

function configuration({ world, params, query }: SimRequest) {
  const items = parseConf(findGroup(world, params.group_id).files.get(CONF) ?? '')
  const page = collect(items, parseCollectionRequest(query, world.now()), { engine: 'array' })
  return { totalItems: page.totalItems, items: page.items }
}

type Parse = (text: string) => unknown

const parsers: Readonly<Record<string, Parse>> = {
  conf: (text) => {
    const items = parseConf(text)
    return { totalItems: items.length, items }
  },
  rootkit_files: parseRootkitFiles,
  rootkit_trojans: parseRootkitTrojans,
  rcl: parseTests,
}

/** File names with a known type. */
const types: Readonly<Record<string, Parse | undefined>> = {
  [CONF]: parsers.conf,
  'rootkit_files.txt': parseRootkitFiles,
  'rootkit_trojans.txt': parseRootkitTrojans,
  'ar.conf': (text) => text.split('\n').filter((line) => line !== ''),
}

function file({ world, params, query }: SimRequest): unknown {
  const name = params.filename ?? ''
  const text = filesOf(findGroup(world, params.group_id)).get(name)
  if (text === undefined) throw refusal(1006, name)
  const { type, format } = query
  if (type === undefined && format === 'xml' && name === CONF) return text.replaceAll('\n', '')
  const parse = type === undefined ? (types[name] ?? parseTests) : parsers[type]
  if (parse === undefined) throw refusal(1104, type)
  return parse(text)
}

/** The file is well-formed (703 is checked before); this checks its content. */
function upload({ world, params, text }: SimRequest): string {
  const group = findGroup(world, params.group_id)
  if (params.file_name !== undefined && params.file_name !== CONF) throw refusal(1111)
  if (text.trim() === '') throw refusal(1112)
  const nodes = parseXml(text)
  for (const block of elements(nodes)) {
    if (block.name !== 'agent_config') throw refusal(1114, `Invalid element in the configuration: '${block.name}'.`)
    const unknown = elements(block.children).find(({ name }) => !AGENT_SECTIONS.has(name))
    if (unknown !== undefined) throw refusal(1114, `Invalid element in the configuration: '${unknown.name}'.`)
  }
  group.files.set(CONF, indent(nodes))
  return 'Agent configuration was updated successfully'
}

export const groupConfigHandlers: SimHandlers = {
  'GET /agents/groups/:group_id/configuration': configuration,
  'GET /agents/groups/:group_id/files': list,
  'GET /agents/groups/:group_id/files/:filename': file,
  'POST /agents/groups/:group_id/configuration': upload,
  'POST /agents/groups/:group_id/files/:file_name': upload,
}
