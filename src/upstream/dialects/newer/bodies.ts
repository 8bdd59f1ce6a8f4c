/**
 * The bodies of calls of the newer layout, and lists of agents that a request names: they are sent as a parameter, in
 * as many calls as they need.
 */
import type { BodyRule } from '../../../catalogue/newer/translation.ts'
import { fieldsOf } from '../../../core/request.ts'
import { ownEntry } from '../../../core/values.ts'
import { formatBody } from '../dialect.ts'
import type { Conversation, NewerCall } from './conversation.ts'
import { RefusedError } from './errors.ts'
import { chunksOf } from './request-line.ts'

type Body = NewerCall['body']
type CreateBody = (conversation: Conversation) => Body

const words: Readonly<Record<Extract<BodyRule, string>, CreateBody>> = { none: () => undefined, registration, command }

/** Throws RefusedError for a body that the node must not get. */
export function createBody(conversation: Conversation, rule: BodyRule | undefined): Body {
  if (rule === undefined) return formatBody(conversation.request)
  if (typeof rule === 'string') return words[rule](conversation)
  return json(Object.fromEntries(Object.entries(rule.json).map(([name, value]) => [name, conversation.fill(value)])))
}

function json(value: unknown): Body {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }
}

const MIN_KEY_LETTERS = 64

/**
 * A new agent. Without `force` an agent with the same name or address is never replaced in the classic layout, and the
 * node would use its own settings. It takes no networks as address, except for an agent that is inserted with its key.
 */
function registration(conversation: Conversation): Body {
  const { force, ...fields } = fieldsOf(conversation.request)
  const { ip, key } = fields
  if (typeof key === 'string' && key.length < MIN_KEY_LETTERS) throw new RefusedError(1709)
  if (key === undefined && typeof ip === 'string' && ip.includes('/')) {
    throw new RefusedError(606, '. IP invalid.  Field: ip')
  }
  return json({ ...fields, force: forceOf(force) })
}

/** `force`: seconds since the last message of the agent that is replaced; 0: any; absent or negative: none. */
function forceOf(force: unknown): unknown {
  const seconds = Number(force ?? -1)
  if (!(seconds >= 0)) return { enabled: false }
  const disconnected = seconds === 0 ? { enabled: false } : { enabled: true, value: `${seconds}s` }
  return { enabled: true, after_registration_time: '0s', disconnected_time: disconnected }
}

function command(conversation: Conversation): Body {
  const { command: name, ...fields } = fieldsOf(conversation.request)
  if (name === undefined || name === '') throw new RefusedError(1650)
  return json({ command: name, ...fields })
}

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
