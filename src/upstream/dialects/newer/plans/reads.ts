/** Reads that need more than one call, or another form of the reply. */

import { Readable } from 'node:stream'
import { ownEntry, ownField, ownText } from '../../../../core/values.ts'
import type { Element, Row } from '../../../../query/value.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { NO_AGENT, NO_DATABASE } from '../codes.ts'
import { collectByEdge } from '../collections.ts'
import { type Conversation, type NewerCall, type Reply, successOf } from '../conversation.ts'
import { classicError, errorOfProblem, RefusedError } from '../errors.ts'
import { createRowConverter } from '../rows.ts'
import { toClassicSections } from '../shapes.ts'
import { oneCall } from './repeated-calls.ts'

/** Returns the first of the items of a reply if it is an object. */
function firstItem({ content }: Reply): Readonly<Record<string, unknown>> | undefined {
  const item = content.kind === 'success' ? content.items?.[0] : undefined
  return typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>) : undefined
}

/**
 * Rows of one agent, of calls that look for its database before they look for the agent. Agents that exist have no database
 * before they have sent data: then there are no rows.
 */
export async function rowsOfAgent(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  const reply = await conversation.send(call)
  const { content } = reply
  if (content.kind !== 'problem' || content.code !== NO_DATABASE) return answerOf(conversation, reply, byEdge)
  const query = { agents_list: conversation.fill(':agent_id'), select: 'id' }
  const { content: agent } = await conversation.send({ method: 'GET', path: '/agents', query })
  const isUnknown = agent.kind === 'success' && agent.failed.some(({ code }) => code === NO_AGENT)
  return isUnknown ? answerError(reply, classicError(NO_AGENT)) : answerOf(conversation, reply)
}

const NO_FIELD = 1103

/** The configuration file: the classic layout has a section without its name around it, and a field without both. */
export async function configuration(conversation: Conversation): Promise<Answer> {
  const reply = await conversation.send(buildCall(conversation).call)
  const item = firstItem(reply)
  if (item === undefined) return answerOf(conversation, reply)
  const { section, field } = conversation.request.query
  const sections = toClassicSections(item)
  const found = section === undefined ? sections : ownField(sections, section)
  if (field === undefined) return answerData(reply, found ?? {})
  const value = ownField(found, field)
  if (value === undefined) throw new RefusedError(NO_FIELD)
  return answerData(reply, value)
}

/**
 * Facts of a node. The newer layout has those of the cluster elsewhere, gives a node no name beside the one in the cluster,
 * and no version of the rules, which are part of the release. A node that answers through another one is in a running
 * cluster, so that only the name of the cluster is missing.
 */
export async function info(conversation: Conversation): Promise<Answer> {
  const { about, rows, isElsewhere } = conversation
  const own = await conversation.send(buildCall(conversation).call)
  const item = firstItem(own)
  if (item === undefined) return answerOf(conversation, own)
  const state = isElsewhere ? undefined : await conversation.send(readOf('/cluster/status'))
  if (state !== undefined && !hasSucceeded(state)) return answerOf(conversation, state)
  const { enabled, running } = state === undefined ? IN_CLUSTER : statusOf(state)
  const local = enabled === 'yes' ? await conversation.send(readOf('/cluster/local/info')) : undefined
  if (local !== undefined && firstItem(local) === undefined) return answerOf(conversation, local)
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

const FOLDER = 'etc/lists/'
const WRONG_PATH = 1801
const NO_FILE = 1006

/** One CDB list: the classic layout names it by its path, and returns only its keys and values. */
export async function lists(conversation: Conversation): Promise<Answer> {
  const { query, waitForComplete } = conversation.request
  const { path, ...others } = query
  if (path === undefined) return oneCall(conversation)
  if (!path.startsWith(FOLDER) || path.includes('./')) throw new RefusedError(WRONG_PATH)
  const slash = path.lastIndexOf('/')
  const name = { relative_dirname: path.slice(0, slash), filename: path.slice(slash + 1) }
  // The node would ignore an empty name and return any list of the folder. It refuses names of dots without a code.
  if (/^\.*$/.test(name.filename)) throw new RefusedError(NO_FILE)
  const wait = waitForComplete && { wait_for_complete: 'true' }
  const reply = await conversation.send({ method: 'GET', path: '/lists', query: { ...name, ...wait } })
  const list = successOf(reply).items?.[0] as Row | undefined
  if (list === undefined) throw new RefusedError(NO_FILE)
  const rows: Element[] = [{ path, items: list.items }]
  const items = collectByEdge(rows, others, 'lists').items.map((row) => (row as Row).items)
  return answerData(reply, { totalItems: items.length, items })
}

const MAX_PAGE = 500

/** Log entries, of which a node returns at most 500 at once. It reads the last 2,000 lines. */
export async function logs(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  return answerOf(conversation, await sendPages(conversation, call), byEdge)
}

/** Returns the reply with the entries of all pages that the call asks for, or the first reply without entries. */
async function sendPages(conversation: Conversation, call: NewerCall): Promise<Reply> {
  const offset = Number(call.query.offset ?? 0)
  const limit = Number(call.query.limit ?? MAX_PAGE)
  if (limit <= MAX_PAGE) return conversation.send(call)
  const first = await conversation.send(pageOf(call, offset, limit))
  const { content } = first
  if (content.kind !== 'success' || content.items === undefined) return first
  const end = Math.min(offset + limit, content.total)
  const items = [...content.items]
  for (let at = offset + MAX_PAGE; at < end; at += MAX_PAGE) {
    const next = await conversation.send(pageOf(call, at, end - at))
    if (next.content.kind !== 'success' || next.content.items === undefined) return next
    // The log was rotated meanwhile, or the total is wrong.
    if (next.content.items.length === 0) break
    items.push(...next.content.items)
  }
  return { ...first, content: { ...content, items } }
}

function pageOf(call: NewerCall, offset: number, limit: number): NewerCall {
  return { ...call, query: { ...call.query, offset: String(offset), limit: String(Math.min(limit, MAX_PAGE)) } }
}

/** Files of the ruleset as such: the newer layout returns them under a path of their own, as a stream. */
export async function download(conversation: Conversation): Promise<Answer> {
  const { request, translation } = conversation
  const { raw } = request.endpoint.response
  const name = raw?.when && ownEntry(request.query, raw.when)
  if (raw === undefined || name === undefined || translation.file === undefined) return oneCall(conversation)
  const params = { file: name }
  const response = await conversation.open({ method: 'GET', path: translation.file, params, query: { raw: 'true' } })
  if (!(response.body instanceof Readable)) return answerMissing(conversation, await conversation.read(response), name)
  const { length, body: stream } = response
  const file = { kind: 'file', status: 200, type: raw.type, ...(length !== undefined && { length }), stream } as const
  return { ok: true, response, translated: { ok: true, response: file } }
}

/** The node names a file that it lacks as a failed item, and refuses a name that no file can have without a code. */
function answerMissing(
  conversation: Conversation,
  reply: Awaited<ReturnType<Conversation['read']>>,
  name: string,
): Answer {
  const { content } = reply
  const error = content.kind === 'problem' && content.code !== undefined && errorOfProblem(conversation, content)
  if (typeof error === 'object') return answerError(reply, error)
  return answerError(reply, { code: 700, message: `File not found: ${name}`, status: 404 })
}
