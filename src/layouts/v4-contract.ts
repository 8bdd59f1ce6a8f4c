/**
 * The v4 contract in front of nodes of the v4 layout: one call for a request, with the same path and parameters. The
 * response stays as it is, so a client gets the bytes of the node.
 */

import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Endpoint, PassesOnTo, V4Endpoint } from '../contracts/endpoint.ts'
import { EdgeError, goneProblem, notFoundProblem } from '../core/errors.ts'
import { isInRelease, isRelease5, type NodeResult, type PassedOnTo } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { answerWithData } from './agents-without-data.ts'
import { fillPath } from './call-path.ts'
import {
  createNodeCall,
  type Dialect,
  type DialectTools,
  formatBody,
  readVersion,
  type TranslatedResponse,
} from './dialect.ts'
import { answerWithoutLost, type ChangedCall } from './lost-nodes.ts'
import { UNKNOWN_NODE } from './v4/content.ts'
import { minorOrLatest } from './v4/releases.ts'
import { checkRequestLine, formatQuery } from './v4/request-line.ts'
import { numberOfProblem, toV4Response } from './v4-response.ts'

export const v4Contract: Dialect = {
  ask: async (request, { node, replacesMaster }, tools) => {
    const { call, timeout, master, guards } = tools
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
      const answer = await answerWithoutLost({ request, node, call, ask: askOnce, query, remaining }, result)
      lacksNodes = answer.lacksNodes
      return answer.result
    }
    const first = await ask(request.query)
    await checkUnknown(first, request, { ...tools, timeout: remaining() })
    const isGuarded = guards?.agentsWithoutData === true
    const result = isGuarded ? await answerWithData({ request, node, call, ask, remaining }, first) : first
    if (!result.ok) return result
    const translated = await toV4Response(result.response, request.kind)
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
  if (endpoint.contract === 'v3' || endpoint.releases === undefined) return
  const known = tools.view.releaseOf(node)
  const isRead = known === undefined && endpoint.releases.until !== undefined
  refuseGone(endpoint, isRead ? await readVersion(request, node, tools) : known)
}

function refuseGone({ releases = {}, replacedBy }: V4Endpoint, release: string | undefined): void {
  if (isInRelease(releases, release)) return
  throw isRelease5(release) && releases.until ? goneProblem(releases.until, replacedBy) : notFoundProblem()
}

const NOT_FOUND = 404

/** Throws what `checkRelease` throws if the node lacks the path because it has release 5.0 since its release was read. */
async function checkUnknown(result: NodeResult, request: EdgeRequest, tools: DialectTools): Promise<void> {
  const { endpoint } = request
  if (!result.ok || result.response.status !== NOT_FOUND || endpoint.contract === 'v3') return
  if (endpoint.releases?.until === undefined) return
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
  const version = tools.view.versions.of(node) ?? (await readVersion(request, node, tools))
  if (version === undefined || minorOrLatest(version) > LAST_RELEASE_WITH_CACHE) return {}
  return { [`edge${randomUUID().slice(0, 8)}`]: '' }
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
