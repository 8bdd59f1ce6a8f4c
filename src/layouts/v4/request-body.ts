/** Translates the body of a v3 request. */

import type { BodyRule } from '../../contracts/translations/translation.ts'
import { type EdgeRequest, fieldsOf } from '../../core/request.ts'
import { formatBody } from '../dialect.ts'
import { fill, type V4Call } from './call.ts'
import type { Conversation } from './conversation.ts'
import { RefusedError } from './errors.ts'

type Body = V4Call['body']
type CreateBody = (conversation: Conversation) => Body

const words: Readonly<Record<Extract<BodyRule, string>, CreateBody>> = { none: () => undefined, registration, command }

/** Throws RefusedError for a body that the node must not get. */
export function createBody(conversation: Conversation, rule: BodyRule | undefined): Body {
  if (rule === undefined) return formatBody(conversation.request)
  if (typeof rule === 'string') return words[rule](conversation)
  return json(Object.fromEntries(Object.entries(rule.json).map(([name, value]) => [name, fill(value, conversation)])))
}

function json(value: unknown): Body {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }
}

const MIN_KEY_LETTERS = 64

/**
 * A new agent. Without `force` an agent with the same name or address is never replaced in the v3 layout, and the
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

const NO_BYTES = Buffer.alloc(0)

/** Returns the bytes of a file that is uploaded; a request without one has no bytes. */
export function uploadOf(request: EdgeRequest): Buffer {
  return request.kind === 'write' && request.body.kind === 'upload' ? request.body.bytes : NO_BYTES
}
