/** Reads that need more than one call, or another form of the reply. */

import { Readable } from 'node:stream'
import type { Element, Row } from '../../../collections/value.ts'
import { ownEntry, ownField, ownText } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerError, answerOf } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { fill, type V4Call } from '../call.ts'
import { NO_AGENT, NO_DATABASE } from '../content.ts'
import type { Conversation } from '../conversation.ts'
import { collectByEdge } from '../data.ts'
import { RefusedError, v3Error } from '../errors.ts'
import { errorOfProblem } from '../problems.ts'
import { firstItem, type Reply, successOf } from '../reply.ts'
import { createRowConverter } from '../rows.ts'
import { toV3Sections } from '../shapes.ts'
import { oneCall } from './one-call.ts'

/**
 * Rows of one agent, of calls that look for its database before they look for the agent. Agents that exist have no database
 * before they have sent data: then there are no rows.
 */
export async function rowsOfAgent(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  const reply = await conversation.send(call)
  const { content } = reply
  if (content.kind !== 'problem' || content.code !== NO_DATABASE) return answerOf(conversation, reply, byEdge)
  const query = { agents_list: fill(':agent_id', conversation), select: 'id' }
  const { content: agent } = await conversation.get('/agents', query)
  const isUnknown = agent.kind === 'success' && agent.failed.some(({ code }) => code === NO_AGENT)
  return isUnknown ? answerError(reply, v3Error(NO_AGENT)) : answerOf(conversation, reply)
}

const NO_SECTION = 1102
const NO_FIELD = 1103

/** The configuration file: the v3 layout has a section without its name around it, and a field without both. */
export async function configuration(conversation: Conversation): Promise<Answer> {
  const { section, field } = conversation.request.query
  // The node ignores the case of the name, releases 3.x do not.
  if (section !== section?.toLowerCase()) throw new RefusedError(NO_SECTION)
  const reply = await conversation.send(buildCall(conversation).call)
  const item = firstItem(reply)
  if (item === undefined) return answerOf(conversation, reply)
  const sections = toV3Sections(item)
  const found = section === undefined ? sections : ownField(sections, section)
  if (field === undefined) return answerData(reply, found ?? {})
  const value = ownField(found, field)
  if (value === undefined) throw new RefusedError(NO_FIELD)
  return answerData(reply, value)
}

/**
 * Facts of a node. The v4 layout has those of the cluster elsewhere, gives a node no name beside the one in the cluster,
 * and no version of the rules, which are part of the release. A node that answers through another one is in a running
 * cluster, so that only the name of the cluster is missing.
 */
export async function info(conversation: Conversation): Promise<Answer> {
  const { about, rows, isElsewhere, isAboutMaster } = conversation
  const own = await conversation.send(buildCall(conversation).call)
  const item = firstItem(own)
  if (item === undefined) return answerOf(conversation, own)
  const state = isElsewhere ? undefined : await conversation.get('/cluster/status')
  const status = state && statusOf(state)
  if (state !== undefined && status === undefined) return answerOf(conversation, state)
  const { enabled = 'yes', running } = status ?? { enabled: 'yes', running: 'yes' }
  const local = enabled === 'yes' ? await conversation.get('/cluster/local/info') : undefined
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
      ...(local && {
        name: ownField(firstItem(local), 'cluster'),
        node_name: about,
        node_type: isAboutMaster ? 'master' : 'worker',
      }),
    },
  }
  return answerData(own, data)
}

function statusOf({ content }: Reply): { readonly enabled: unknown; readonly running: unknown } | undefined {
  if (content.kind !== 'success' || content.error !== 0) return undefined
  return { enabled: ownField(content.data, 'enabled'), running: ownField(content.data, 'running') }
}

const FOLDER = 'etc/lists/'
const WRONG_PATH = 1801
const NO_FILE = 1006

/** One CDB list: the v3 layout names it by its path, and returns only its keys and values. */
export async function lists(conversation: Conversation): Promise<Answer> {
  const { path, ...others } = conversation.request.query
  if (path === undefined) return oneCall(conversation)
  if (!path.startsWith(FOLDER) || path.includes('./')) throw new RefusedError(WRONG_PATH)
  const slash = path.lastIndexOf('/')
  const name = { relative_dirname: path.slice(0, slash), filename: path.slice(slash + 1) }
  // The node would ignore an empty name and return any list of the folder. It refuses names of dots without a code.
  if (/^\.*$/.test(name.filename)) throw new RefusedError(NO_FILE)
  const reply = await conversation.get('/lists', { ...name, ...conversation.waiting })
  const list = successOf(reply).items?.[0] as Row | undefined
  if (list === undefined) throw new RefusedError(NO_FILE)
  const rows: Element[] = [{ path, items: list.items }]
  const page = await collectByEdge(rows, others, 'lists')
  const items = page.items.map((row) => (row as Row).items)
  return answerData(reply, { totalItems: items.length, items })
}

const MAX_PAGE = 500

/** Log entries, of which a node returns at most 500 at once. It reads the last 2,000 lines. */
export async function logs(conversation: Conversation): Promise<Answer> {
  const { call, byEdge } = buildCall(conversation)
  return answerOf(conversation, await sendPages(conversation, call), byEdge)
}

/** Returns the reply with the entries of all pages that the call asks for, or the first reply without entries. */
async function sendPages(conversation: Conversation, call: V4Call): Promise<Reply> {
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

function pageOf(call: V4Call, offset: number, limit: number): V4Call {
  return { ...call, query: { ...call.query, offset: String(offset), limit: String(Math.min(limit, MAX_PAGE)) } }
}

/** Files of the ruleset as such: the v4 layout returns them under their own path, as a stream. */
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
function answerMissing(conversation: Conversation, reply: Reply, name: string): Promise<Answer> {
  const { content } = reply
  const error = content.kind === 'problem' && content.code !== undefined && errorOfProblem(conversation, content)
  if (typeof error === 'object') return answerError(reply, error)
  return answerError(reply, { code: 700, message: `File not found: ${name}`, status: 404 })
}
