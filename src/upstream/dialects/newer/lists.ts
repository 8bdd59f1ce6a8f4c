/** Lists of agents that a request names: they are sent as a parameter, in as many calls as they need. */
import { fieldsOf } from '../../../core/request.ts'
import { ownEntry } from '../../../core/values.ts'
import { RefusedError } from './classic-error.ts'
import type { Conversation, NewerCall } from './conversation.ts'
import { chunksOf } from './request-line.ts'

/** Returns the calls with the parts of the list. Throws 604 for an empty list: for the node it means all agents. */
export function withLists(conversation: Conversation, call: NewerCall): readonly NewerCall[] {
  const { list } = conversation.translation.call
  if (list === undefined) return [call]
  const ids = listOf(conversation)
  if (ids === undefined && Object.hasOwn(call.query, list.as)) return [call]
  const chunks = chunksOf(ids ?? [])
  if (chunks.length === 0) throw new RefusedError(604, ". Missing field: 'ids'")
  return chunks.map((chunk) => ({ ...call, query: { ...call.query, [list.as]: chunk } }))
}

/** Returns the ids that the request lists; `undefined`: it has no list. */
export function listOf({ request, translation }: Conversation): readonly string[] | undefined {
  const { list } = translation.call
  if (list === undefined) return undefined
  const value = list.from === 'query.ids' ? ownEntry(request.query, 'ids') : ownEntry(fieldsOf(request), 'ids')
  if (value === undefined) return undefined
  const ids = Array.isArray(value) ? value.map(String) : String(value).split(',')
  return ids.filter((id) => id !== '').map(canonicalId)
}

/** The node takes ids of three digits; with more zeros in front than that they name no agent. */
function canonicalId(id: string): string {
  return /^\d+$/.test(id) ? id.replace(/^0+(?=\d)/, '').padStart(3, '0') : id
}
