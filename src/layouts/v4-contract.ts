/**
 * The v4 contract in front of nodes of the v4 layout: one call for a request, with the same path and parameters. The
 * response stays as it is, so a client gets the bytes of the node.
 */

import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Endpoint, PassesOnTo, V4Endpoint } from '../contracts/endpoint.ts'
import { isNodeFailureError, isUnfinishedError, readEnvelopeInTurns, UNKNOWN_ERROR } from '../core/envelope.ts'
import { EdgeError, goneProblem, notFoundProblem } from '../core/errors.ts'
import { parseInTurns } from '../core/json-parse.ts'
import { concatInTurns } from '../core/long-values.ts'
import {
  type CallNode,
  isInRelease,
  isRelease5,
  type NodeResponse,
  type NodeResult,
  type PassedOnTo,
} from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { PROBLEM_TYPE, type RowRanges } from '../core/response.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import {
  createNeededRead,
  createNodeCall,
  type Dialect,
  type DialectTools,
  dataIn,
  fillPath,
  formatBody,
  OF_NODE,
  readVersion,
  type TranslatedResponse,
} from './dialect.ts'
import { answerWithoutLost, type ChangedCall } from './lost-nodes.ts'
import { agentsWithoutDatabase, readContent, SOME_FAILED, UNKNOWN_NODE } from './v4/content.ts'
import { ALL_ROWS, CONNECTED_AGENTS } from './v4/conversation.ts'
import { minorOrLatest } from './v4/index.ts'
import { checkRequestLine, formatQuery, MAX_LIST_BYTES } from './v4/request-line.ts'

export const v4Contract: Dialect = {
  ask: async (request, { node, replacesMaster }, tools) => {
    const { call, timeout, master, view, guards } = tools
    const { endpoint, params, waitForComplete } = request
    const { method, path } = endpoint
    await checkRelease(request, node, tools)
    const deadline = performance.now() + (timeout ?? Number.POSITIVE_INFINITY)
    const remaining = () => (timeout === undefined ? undefined : deadline - performance.now())
    const otherwise = await pastNodeCache(request, node, tools)
    const reportsLostNodes = guards?.lostNodes === true && replacesMaster !== true
    const askOnce = async ({ query, ...changed }: ChangedCall): Promise<NodeResult> => {
      const sent = waitForComplete ? { ...query, wait_for_complete: 'true' } : query
      const called = changed.path ?? path
      const url = fillPath(called, params) + formatQuery({ ...sent, ...otherwise })
      checkRequestLine(node, method, url)
      const body = await formatBody(request)
      return call(
        createNodeCall(request, {
          node,
          method,
          path: url,
          ...(body && { body }),
          expect: isFile(request) ? 'stream' : 'bytes',
          timeout: remaining(),
          endpoint: `${method} ${called}`,
          passedOnTo: replacesMaster ? { node: master } : (changed.passedOnTo ?? passedOnTo(request, master)),
          ...(reportsLostNodes && { reportsLostNodes }),
        }),
      )
    }
    let lacksNodes = false
    const ask = async (query: EdgeRequest['query']): Promise<NodeResult> => {
      const result = await askOnce({ query })
      if (!reportsLostNodes || result.ok || result.lostNodes === undefined) return result
      const answer = await answerWithoutLost({ request, node, view, call, ask: askOnce, query, remaining }, result)
      lacksNodes = answer.lacksNodes
      return answer.result
    }
    const first = await ask(request.query)
    await checkUnknown(first, request, { ...tools, timeout: remaining() })
    const isGuarded = guards?.agentsWithoutData === true && mayNameAgents(request)
    const missing = isGuarded ? await agentsWithoutData(first) : new Set<string>()
    const result =
      missing.size === 0 ? first : await askOtherAgents({ request, node, call, ask, first, missing, deadline })
    if (!result.ok) return result
    const translated = await toResponse(result.response, request.kind)
    return {
      ok: true,
      response: result.response,
      translated: lacksNodes ? withoutNodes(translated, request) : translated,
    }
  },
}

/**
 * Throws the 404 of a release, such as 5.0, that lacks the operation. The border has refused it, unless the release was not known there yet,
 * as before the first login of a user, or other nodes have the operation.
 */
async function checkRelease(request: EdgeRequest, node: string, tools: DialectTools): Promise<void> {
  const { endpoint } = request
  const { view } = tools
  if (endpoint.contract === 'v3' || endpoint.releases === undefined || view.releaseOf === undefined) return
  const known = view.releaseOf(node)
  const isRead = known === undefined && endpoint.releases.until !== undefined
  refuseGone(endpoint, isRead ? await readVersion(request, node, tools) : known)
}

function refuseGone({ releases = {}, replacedBy }: V4Endpoint, release: string | undefined): void {
  if (isInRelease(releases, release)) return
  throw isRelease5(release) && releases.until ? goneProblem(releases.until, replacedBy) : notFoundProblem()
}

/** Throws what `checkRelease` throws if the node lacks the path because it has release 5.0 since its release was read. */
async function checkUnknown(result: NodeResult, request: EdgeRequest, tools: DialectTools): Promise<void> {
  const { endpoint } = request
  if (!result.ok || result.response.status !== NOT_FOUND || endpoint.contract === 'v3') return
  if (endpoint.releases?.until === undefined || tools.view.releaseOf === undefined) return
  const { node, body } = result.response
  if (!(body instanceof Readable) && numberOfProblem(body, NOT_FOUND) === NOT_FOUND)
    refuseGone(endpoint, await readVersion(request, node, tools))
}

/**
 * A read of the other nodes alone is a failure for the cache, also if the manager has no failed item for the lost one: it
 * is not stored, and a stored response is served instead where one may be.
 */
function withoutNodes(translated: TranslatedResponse, { kind }: EdgeRequest): TranslatedResponse {
  if (!translated.ok || translated.response.kind === 'file' || kind !== 'read') return translated
  const { response } = translated
  return response.status === 200 ? { ok: true, response: { ...response, errorNumber: UNKNOWN_NODE } } : translated
}

/** Releases from 4.9 on have no such cache, and refuse what earlier ones ignore. */
const LAST_RELEASE_WITH_CACHE = 8

/** Whether a node may answer with what it answered before to an equal call. */
export function isAnsweredByNodeCache(endpoint: Endpoint): boolean {
  return endpoint.contract === 'v4' && endpoint.answeredByNodeCache === true
}

/**
 * A node answers equal calls about rules from a cache in front of its check of tokens: for 0.75 s any user gets what another
 * one may see, or what a write has changed since. It ignores an empty parameter of any name, which makes the call another one.
 */
async function pastNodeCache(request: EdgeRequest, node: string, tools: DialectTools): Promise<Record<string, string>> {
  if (tools.guards?.nodeCache !== true || !isAnsweredByNodeCache(request.endpoint)) return {}
  const version = tools.view.versions?.of(node) ?? (await readVersion(request, node, tools))
  if (version === undefined || minorOrLatest(version) > LAST_RELEASE_WITH_CACHE) return {}
  return { [`edge${randomUUID().slice(0, 8)}`]: '' }
}

function mayNameAgents({ endpoint, query }: EdgeRequest): boolean {
  return endpoint.method === 'GET' && Object.hasOwn(endpoint.query, 'agents_list') && query.agents_list === undefined
}

/** Returns the agents because of which the node answered nothing: they have never sent data. */
async function agentsWithoutData(result: NodeResult): Promise<ReadonlySet<string>> {
  if (!result.ok || result.response.status !== 400 || !Buffer.isBuffer(result.response.body)) return new Set()
  return agentsWithoutDatabase(await readContent(result.response))
}

interface OtherAgents {
  readonly request: EdgeRequest
  readonly node: string
  readonly call: CallNode
  readonly ask: (query: EdgeRequest['query']) => Promise<NodeResult>
  /** The response that names the missing agents. */
  readonly first: NodeResult
  readonly missing: ReadonlySet<string>
  readonly deadline: number
}

/** How often a call is repeated without the agents that its response has named. Those that never connected are left out at once. */
const MAX_ATTEMPTS = 5

/** Asks for the agents that have connected. Returns the first response if that does not help. */
async function askOtherAgents({
  request,
  node,
  call,
  ask,
  first,
  missing,
  deadline,
}: OtherAgents): Promise<NodeResult> {
  const left = new Set(missing)
  const agents = await call(
    createNeededRead(request, {
      node,
      path: `/agents${formatQuery({ ...CONNECTED_AGENTS, limit: ALL_ROWS })}`,
      endpoint: '/agents',
      timeout: request.waitForComplete ? undefined : deadline - performance.now(),
    }),
  )
  const items = ownField(dataIn(agents), 'affected_items')
  const ids = Array.isArray(items) ? items.flatMap((item) => ownText(item, 'id') ?? []) : []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const named = ids.filter((id) => !left.has(id)).sort()
    const list = named.join(',')
    if (named.length === 0 || list.length > MAX_LIST_BYTES || performance.now() >= deadline) return first
    const result = await ask({ ...request.query, agents_list: list })
    const further = await agentsWithoutData(result)
    if (further.size === 0) return result
    if ([...further].every((id) => left.has(id))) return first
    for (const id of further) left.add(id)
  }
  return first
}

/** Nodes of the v3 layout lack most of what the v4 contract has. */
export const refused: Dialect = {
  ask: async (_request, { node }) => {
    throw new EdgeError(938, ` (${node}: it has the v3 layout, and listen.contract is v4)`)
  },
}

function isFile({ endpoint, query }: EdgeRequest): boolean {
  const { raw } = endpoint.response
  return raw !== undefined && (raw.when === undefined || query[raw.when] === 'true')
}

function passedOnTo({ endpoint: { target }, params }: EdgeRequest, master: string): PassedOnTo | undefined {
  const to: PassesOnTo | undefined = target.kind === 'master' ? target.passesOnTo : undefined
  if (to === 'agentOwner') return { agent: params.agent_id ?? '' }
  if (to === 'node') return params.node_id === master ? undefined : { node: params.node_id ?? '' }
  return to
}

/** Returns the response with unchanged bytes, or the reason why they are not one of the API. */
async function toResponse(
  { status, type, length, personal, body }: NodeResponse,
  kind: EdgeRequest['kind'],
): Promise<TranslatedResponse> {
  if (body instanceof Readable) {
    return {
      ok: true,
      response: {
        kind: 'file',
        status,
        type: `${type}; charset=utf-8`,
        ...(length !== undefined && { length }),
        stream: body,
      },
    }
  }
  const isProblem = type === PROBLEM_TYPE
  const origin = { ...OF_NODE, isPersonal: personal === true, isProblem }
  if (isProblem) {
    const errorNumber = numberOfProblem(body, status)
    if (errorNumber === undefined) return { ok: false, reason: 'the problem has no title' }
    return { ok: true, response: { kind: 'envelope', status, body, errorNumber, origin } }
  }
  const envelope = await readEnvelopeInTurns(body, 'failed_items')
  if (!envelope.ok) return envelope
  const { error, rows, namesFailedNodes } = envelope
  const errorNumber = SUMMARIES.has(error) ? numberOfItems(error, await parseList(body, rows), kind) : error
  return {
    ok: true,
    response: { kind: 'envelope', status, body, errorNumber, origin: { ...origin, namesFailedNodes } },
  }
}

const NOT_FOUND = 404

/** The values of `error` that summarise the items: all of them failed, or some. */
const SUMMARIES: ReadonlySet<number> = new Set([1, 2])

/** Parses a list within the body. The rest of the body, such as 100,000 rows, is not parsed. */
async function parseList(body: Buffer, list: RowRanges | undefined): Promise<readonly unknown[]> {
  if (list === undefined) return []
  const bytes = await concatInTurns([Buffer.from('['), body.subarray(list.from, list.to), Buffer.from(']')])
  return (await parseInTurns(bytes)) as readonly unknown[]
}

/**
 * Returns the error of a failed item, first of one whose node failed, so that its work may still be in progress. A write
 * that was done for some items is no failure: it has changed data. A read without some of its items is not stored.
 */
function numberOfItems(summary: number, failed: readonly unknown[], kind: EdgeRequest['kind']): number {
  const errors = failed.map((item) => Number(ownField(ownField(item, 'error'), 'code')))
  const ofNode = errors.find(isUnfinishedError) ?? errors.find(isNodeFailureError)
  if (ofNode !== undefined) return ofNode
  if (summary === SOME_FAILED && kind === 'write') return 0
  return errors.find((code) => code > 0) ?? UNKNOWN_ERROR
}

/** The longest problem that is read. */
const MAX_PROBLEM_BYTES = 1024 * 1024

/** Returns the member `error`, or the status where the node has no number; `undefined`: the body is no problem. */
function numberOfProblem(body: Buffer, status: number): number | undefined {
  const problem = body.length > MAX_PROBLEM_BYTES ? undefined : parseJson(body)
  if (ownText(problem, 'title') === undefined) return undefined
  const number = ownField(problem, 'error')
  return Number.isSafeInteger(number) ? Number(number) : status
}
