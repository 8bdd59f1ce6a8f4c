/** Shapes of `data` that only one kind of response has. */
import type { OwnShape } from '../../../catalogue/newer/translation.ts'
import { ownText } from '../../../core/values.ts'
import type { FileText, Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { toActiveConfiguration, toHealth, toLocalNode, toLogSummary } from './shapes-of-nodes.ts'

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
