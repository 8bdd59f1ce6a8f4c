/** Shapes of `data` that only one kind of response has. */
import type { OwnShape } from '../../contracts/translations/translation.ts'
import { isObject, ownField, ownText } from '../../core/values.ts'
import type { FileText, Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { createRowConverter, type NodeRow, values } from './rows.ts'

/** Returns the only item in the v3 form; an empty object if the component has no such settings. */
function toActiveConfiguration(_: Conversation, { items = [] }: Success): unknown {
  return isObject(items[0]) ? toV3Sections(items[0]) : {}
}

/** Returns one object with the counts of each tag. */
function toLogSummary(_: Conversation, { items = [] }: Success): unknown {
  const counts = items.flatMap((item) => (isObject(item) ? Object.entries(item) : []))
  return Object.fromEntries(counts.map(([tag, count]) => [String(values.daemon(tag)), count]))
}

/** Returns the local node, which is the master for clients, also if a worker answers for it. */
function toLocalNode({ about }: Conversation, { items: [item] = [] }: Success): unknown {
  return { node: about, cluster: ownField(item, 'cluster'), type: 'master' }
}

/** Returns the health of nodes by name. Only workers count as connected. */
function toHealth({ rows }: Conversation, { items = [] }: Success): unknown {
  const convert = createRowConverter(rows)
  const nodes = items.filter(isObject).map((item) => convert(withExtraFiles(item)))
  const typeOf = (node: unknown) => ownField(ownField(node, 'info'), 'type')
  const nameOf = (node: unknown) => String(ownField(ownField(node, 'info'), 'name'))
  return {
    n_connected_nodes: nodes.filter((node) => typeOf(node) === 'worker').length,
    nodes: Object.fromEntries(nodes.map((node) => [nameOf(node), node])),
  }
}

/**
 * The number of extra files that the master accepted is beside the other numbers once files were synchronised. The
 * v4 layout accepts them together with the other files, so that nothing else can occupy the connection.
 */
function withExtraFiles(item: NodeRow): NodeRow {
  const { status } = item
  const sync = ownField(status, 'last_sync_integrity')
  const files = ownField(sync, 'total_files')
  if (!isObject(status) || !isObject(sync) || !isObject(files)) return item
  const total_files = { extra_valid: ownField(sync, 'total_extra_valid') ?? 0, ...files }
  return {
    ...item,
    status: { ...status, last_sync_integrity: { ...sync, total_files }, sync_extravalid_free: true },
  }
}

type MakeData = (conversation: Conversation, content: Success | FileText) => unknown

export const shapes: Readonly<Record<OwnShape, MakeData>> = {
  groupFile: (_, content) => groupFileOf(content),
  welcome: ofSuccess((_, { data }) => welcomeOf(data)),
  version: ofSuccess((_, { data }) => versionOf(data)),
  activeConfiguration: ofSuccess(toActiveConfiguration),
  health: ofSuccess(toHealth),
  localNode: ofSuccess(toLocalNode),
  logSummary: ofSuccess(toLogSummary),
}

function ofSuccess(make: (conversation: Conversation, content: Success) => unknown): MakeData {
  return (conversation, content) => (content.kind === 'file' ? content.text : make(conversation, content))
}

/** A text has no line breaks. The parts of agent.conf are a collection; other files are what they are parsed to. */
function groupFileOf(content: Success | FileText): unknown {
  if (content.kind === 'file') return content.text.replaceAll('\n', '')
  const { items, total, data } = content
  return items === undefined ? data : { totalItems: total, items }
}

function welcomeOf(data: unknown): unknown {
  const time = new Date(ownText(data, 'timestamp') ?? '')
  return {
    msg: 'Welcome to Wazuh HIDS API',
    api_version: versionOf(data),
    hostname: ownText(data, 'hostname') ?? '',
    timestamp: Number.isNaN(time.getTime()) ? '' : formatTime(time),
  }
}

function versionOf(data: unknown): string {
  return `v${ownText(data, 'api_version') ?? ''}`
}

/** `Fri Nov 20 2026 12:58:01 GMT+0000 (Coordinated Universal Time)`: as JavaScript writes it in this time zone. */
function formatTime(time: Date): string {
  const [weekday, day, month, year, clock] = time.toUTCString().replace(',', '').split(' ')
  return `${weekday} ${month} ${day} ${year} ${clock} GMT+0000 (Coordinated Universal Time)`
}

type Section = Readonly<Record<string, unknown>>

/**
 * Forms of settings that differ in the v4 layout. Settings that only one of the layouts has stay as they are.
 * Returns sections of a configuration, each under its name, in the v3 form.
 */
export function toV3Sections(sections: Section): Section {
  return Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, convertSection(name, section)]))
}

function convertSection(name: string, section: unknown): unknown {
  if (name === 'remote' && Array.isArray(section)) return section.map(convertRemote)
  if (name === 'auth' && isObject(section)) return convertAuth(section)
  return section
}

/** A connection has a list of protocols in place of one. */
function convertRemote(connection: unknown): unknown {
  const protocols = ownField(connection, 'protocol')
  return Array.isArray(protocols) ? { ...(connection as Section), protocol: protocols.join(',') } : connection
}

/**
 * `force` says when a registration replaces an agent of the same name: `disconnected_time` after which the agent must be
 * disconnected. The configuration in use has it in seconds, the file with a unit.
 */
function convertAuth({ force, ...auth }: Section): Section {
  if (force === undefined) return auth
  const time = ownField(force, 'disconnected_time')
  const seconds = ownField(time, 'value')
  const isInUse = seconds !== undefined
  const isAlways = ownText(time, 'enabled') !== 'yes'
  const always = isInUse ? 'always' : '0'
  return {
    ...auth,
    force_insert: ownText(force, 'enabled') ?? 'no',
    force_time: isAlways ? always : (seconds ?? toSeconds(ownText(time, 'item') ?? '0')),
  }
}

const SECONDS_OF_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

function toSeconds(time: string): string {
  const [, count, unit = 's'] = /^([0-9]{1,12})([smhdw]?)$/.exec(time) ?? []
  return count === undefined ? time : String(Number(count) * (SECONDS_OF_UNIT[unit] ?? 1))
}
