/** Reads that need more than one call, or another form of the reply. */

import { Readable } from 'node:stream'
import type { Element, Row } from '../../../collections/value.ts'
import { isRelease5 } from '../../../core/node-call.ts'
import { REFUSED_BY_RIGHTS } from '../../../core/response.ts'
import { ownEntry, ownField, ownText } from '../../../core/values.ts'
import type { Answer } from '../../dialect.ts'
import { answerData, answerError, answerOf, collectByEdge, type RunPlan } from '../answer.ts'
import { buildCall } from '../build-call.ts'
import { NO_AGENT, NO_DATABASE } from '../content.ts'
import type { Conversation, V4Call } from '../conversation.ts'
import { errorOfProblem, RefusedError, v3Error } from '../errors.ts'
import { type Reply, successOf } from '../reply.ts'
import { createRowConverter } from '../rows.ts'
import { toV3Sections } from '../shapes.ts'
import { oneCall } from './writes.ts'

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
  if (state !== undefined && !hasSucceeded(state)) return answerOf(conversation, state)
  const { enabled = 'yes', running } = state === undefined ? IN_CLUSTER : statusOf(state)
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

const IN_CLUSTER = { enabled: 'yes', running: 'yes' }

function hasSucceeded({ content }: Reply): boolean {
  return content.kind === 'success' && content.error === 0
}

function statusOf({ content }: Reply): { readonly enabled: unknown; readonly running: unknown } {
  const data = content.kind === 'success' ? content.data : undefined
  return { enabled: ownField(data, 'enabled'), running: ownField(data, 'running') }
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

/** Files of the ruleset as such: the v4 layout returns them under a path of their own, as a stream. */
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

type MakeData = (conversation: Conversation, data: unknown, manager: Row | undefined) => unknown

export const summary = withManager('node_name,os.name,os.platform,os.version,version', overviewOf)

export const agentCounts = withManager('id', (_, data, manager) => countsOf(ownField(data, 'connection'), manager))

/**
 * Returns the plan of a summary of all agents. The node does not count agent 000, the manager itself: the edge adds it for
 * callers who may read it, as the node counts for each caller the agents that they may read. `select`: the fields of agent
 * 000 that the data need.
 */
function withManager(select: string, makeData: MakeData): RunPlan {
  return async (conversation): Promise<Answer> => {
    conversation.checkRoom(isRelease5(conversation.release) ? 1 : 2)
    const reply = await conversation.send(buildCall(conversation).call)
    const { data } = successOf(reply)
    // Release 5.0 has no agent 000.
    if (isRelease5(conversation.release)) return answerData(reply, makeData(conversation, data, undefined))
    const manager = await conversation.get('/agents', { agents_list: '000', select })
    const { content } = manager
    const isDenied = content.kind === 'problem' && content.code === REFUSED_BY_RIGHTS
    if (content.kind !== 'success' && !isDenied) return answerOf(conversation, manager)
    return answerData(reply, makeData(conversation, data, firstItem(manager)))
  }
}

/** Agent 000 is always active. */
function countsOf(counts: unknown, manager: Row | undefined): unknown {
  const count = (name: string) => Number(ownField(counts, name) ?? 0)
  const own = manager === undefined ? 0 : 1
  return {
    Total: count('total') + own,
    Active: count('active') + own,
    Disconnected: count('disconnected'),
    'Never connected': count('never_connected'),
    Pending: count('pending'),
  }
}

function overviewOf({ rows }: Conversation, data: unknown, manager: Row | undefined): unknown {
  const convert = createRowConverter(rows)
  const counted = (name: string, fields: readonly string[]) => countedWith(rowsOf(data, name), fields, manager)
  const groups = rowsOf(data, 'groups')
  const [last] = rowsOf(data, 'last_registered_agent')
  return {
    nodes: counted('nodes', ['node_name']),
    groups: { items: groups, totalItems: groups.length },
    agent_os: counted('agent_os', ['os']),
    agent_status: countsOf(ownField(ownField(data, 'agent_status'), 'connection'), manager),
    agent_version: counted('agent_version', ['version']),
    last_registered_agent: last === undefined ? {} : convert(last),
  }
}

function rowsOf(data: unknown, name: string): readonly Row[] {
  const rows = ownField(data, name)
  return Array.isArray(rows) ? (rows as Row[]) : []
}

const withoutUnknown = createRowConverter({ unknownIsMissing: { except: ['node_name'] } })

/** Adds the manager to the row with its values, or as a row of its own. The total is the number of agents. */
function countedWith(rows: readonly Row[], fields: readonly string[], manager: Row | undefined): unknown {
  const own = manager && Object.fromEntries(fields.map((name) => [name, manager[name]]))
  const isOwn = (row: Row) => own !== undefined && fields.every((name) => isEqual(row[name], own[name]))
  const counted = rows.map((row) => (isOwn(row) ? { ...row, count: Number(row.count) + 1 } : row))
  const all = own !== undefined && !rows.some(isOwn) ? [{ ...own, count: 1 }, ...counted] : counted
  const totalItems = all.reduce((sum, { count }) => sum + Number(count), 0)
  return { items: all.map(withoutUnknown), totalItems }
}

/** Compares texts, and objects of texts. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => ownField(a, name) === ownField(b, name))
}
