/**
 * Facts of a node. The newer layout has those of the cluster elsewhere, gives a node no name beside the one in the cluster,
 * and no version of the rules, which are part of the release. A node that answers through another one is in a running
 * cluster, so that only the name of the cluster is missing.
 */
import { ownField, ownText } from '../../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import type { Conversation, NewerCall, Reply } from '../conversation.ts'
import { createRowConverter } from '../rows.ts'
import { firstItem } from './first-item.ts'

export async function info(conversation: Conversation): Promise<Answer> {
  const { about, translation, isElsewhere } = conversation
  const own = await conversation.send(buildCall(conversation).call)
  const item = firstItem(own)
  if (item === undefined) return answerOf(conversation, own)
  const state = isElsewhere ? undefined : await conversation.send(readOf('/cluster/status'))
  if (state !== undefined && !hasSucceeded(state)) return answerOf(conversation, state)
  const { enabled, running } = state === undefined ? IN_CLUSTER : statusOf(state)
  const local = enabled === 'yes' ? await conversation.send(readOf('/cluster/local/info')) : undefined
  if (local !== undefined && firstItem(local) === undefined) return answerOf(conversation, local)
  const rows = 'rows' in translation.response ? translation.response.rows : undefined
  const { tz_offset, tz_name, ...facts } = createRowConverter(rows)(item) as Readonly<Record<string, unknown>>
  const data = {
    ...facts,
    ruleset_version: (ownText(facts, 'version') ?? '').replaceAll(/[^0-9]/g, ''),
    tz_offset,
    tz_name,
    name: about,
    cluster: {
      enabled,
      running,
      ...(local && { name: ownField(firstItem(local), 'cluster'), node_name: about, node_type: typeOf(conversation) }),
    },
  }
  return answerData(own, data)
}

const IN_CLUSTER = { enabled: 'yes', running: 'yes' }

function readOf(path: string): NewerCall {
  return { method: 'GET', path, query: {} }
}

function hasSucceeded({ content }: Reply): boolean {
  return content.kind === 'success' && content.error === 0
}

function statusOf({ content }: Reply): { readonly enabled: unknown; readonly running: unknown } {
  const data = content.kind === 'success' ? content.data : undefined
  return { enabled: ownField(data, 'enabled'), running: ownField(data, 'running') }
}

function typeOf({ isAboutMaster }: Conversation): 'master' | 'worker' {
  return isAboutMaster ? 'master' : 'worker'
}
