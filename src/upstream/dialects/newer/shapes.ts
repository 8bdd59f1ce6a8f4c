/** Shapes of `data` that only one kind of response has. */

import type { OwnShape } from '../../../catalogue/newer/translation.ts'
import { ownField, ownText } from '../../../core/values.ts'
import { toClassicSections } from './configuration.ts'
import type { FileText, Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { createRowConverter } from './rows.ts'
import { values } from './values.ts'

type Row = Readonly<Record<string, unknown>>

/** Returns the only item in the classic form; an empty object if the component has no such settings. */
export function toActiveConfiguration(_: Conversation, { items = [] }: Success): unknown {
  return isRow(items[0]) ? toClassicSections(items[0]) : {}
}

/** Returns one object with the counts of each tag. */
export function toLogSummary(_: Conversation, { items = [] }: Success): unknown {
  const counts = items.flatMap((item) => (isRow(item) ? Object.entries(item) : []))
  return Object.fromEntries(counts.map(([tag, count]) => [String(values.daemon(tag)), count]))
}

/** Returns the local node, which is the master for clients, also if a worker answers for it. */
export function toLocalNode({ about }: Conversation, { items: [item] = [] }: Success): unknown {
  return { node: about, cluster: ownField(item, 'cluster'), type: 'master' }
}

/** Returns the health of nodes by name. Only workers count as connected. */
export function toHealth({ translation: { response } }: Conversation, { items = [] }: Success): unknown {
  const convert = createRowConverter('rows' in response ? response.rows : undefined)
  const nodes = items.filter(isRow).map((item) => convert(withExtraFiles(item)))
  const typeOf = (node: unknown) => ownField(ownField(node, 'info'), 'type')
  const nameOf = (node: unknown) => String(ownField(ownField(node, 'info'), 'name'))
  return {
    n_connected_nodes: nodes.filter((node) => typeOf(node) === 'worker').length,
    nodes: Object.fromEntries(nodes.map((node) => [nameOf(node), node])),
  }
}

/**
 * The number of extra files that the master accepted is beside the other numbers once files were synchronised. The
 * newer layout accepts them together with the other files, so that nothing else can occupy the connection.
 */
function withExtraFiles(item: Row): Row {
  const { status } = item
  const sync = ownField(status, 'last_sync_integrity')
  const files = ownField(sync, 'total_files')
  if (!isRow(status) || !isRow(sync) || !isRow(files)) return item
  const total_files = { extra_valid: ownField(sync, 'total_extra_valid') ?? 0, ...files }
  return {
    ...item,
    status: { ...status, last_sync_integrity: { ...sync, total_files }, sync_extravalid_free: true },
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
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
