/** Connects the manager's own users and tokens with the nodes that issue and check them. */

import { type Acceptance, type AcceptedTokens, latestIssueOf } from '../access/accepted-tokens.ts'
import type { Access } from '../access/access.ts'
import { LoginAttempts } from '../access/login-attempts.ts'
import { createManagerTokenAccess, type ManagerToken, readManagerToken } from '../access/manager-token-access.ts'
import type { HasEnded } from '../core/access.ts'
import { type Counters, createCounters } from '../core/counters.ts'
import { EdgeError, ProblemError } from '../core/errors.ts'
import { jsonInTurns } from '../core/long-values.ts'
import type { NodeCall, NodeFailure } from '../core/node-call.ts'
import { describeFailure } from '../core/node-faults.ts'
import { type EdgeRequest, fieldsOf } from '../core/request.ts'
import { systemClock } from '../core/timing.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { versionIn } from '../layouts/layout-rules.ts'
import type { Cluster } from '../upstream/index.ts'
import { createVersionCall } from '../upstream/probes.ts'
import { basicAuthorization } from '../upstream/tokens/login.ts'
import type { Issued } from '../upstream/tokens/token-calls.ts'

interface TokenCheckParts {
  readonly cluster: Cluster
  /** Absent: the node is asked for each request. */
  readonly accepted: AcceptedTokens | undefined
  /** Milliseconds. */
  readonly timeout: () => number
  /** Of one name from one address, before the first block. */
  readonly failedLogins: () => number
  /** Shared by replicas. Absent: in memory. */
  readonly counters: Counters | undefined
  readonly hasEnded: HasEnded
}

/** Returns the access that asks the master whether it accepts a token. */
export function checkTokensAtNode(access: Access, parts: TokenCheckParts): Access {
  const { cluster, accepted, timeout, failedLogins, counters, hasEnded } = parts
  return createManagerTokenAccess(access, {
    node: () => cluster.view.master().name,
    check: async (token, limit) => {
      const ask = (isAwaited: boolean) => askMaster(cluster, token, timeout(), isAwaited)
      const askOfUnknown = () => limit(() => ask(true))
      if (accepted !== undefined) return accepted.check(token, { ask, askOfUnknown })
      if (hasEnded(token, latestIssueOf(token, systemClock))) return undefined
      return (await askOfUnknown()) ? NOT_REMEMBERED : undefined
    },
    attempts: new LoginAttempts({
      failedLogins,
      counters: counters ?? createCounters(() => systemClock.elapsed()),
    }),
    permissionsOf: (name) => access.permissionsOf?.(name) ?? [],
  })
}

const NOT_REMEMBERED: Acceptance = { noteAnswer: () => undefined, current: () => undefined }

/** Checks wait in the queue like reads: those of many users must not use up what is reserved for writes. */
async function askMaster(
  cluster: Cluster,
  { text, user, node }: ManagerToken,
  timeout: number,
  isAwaited = true,
): Promise<boolean> {
  const call = createVersionCall(cluster, { node, timeout, caller: user })
  const result = await cluster.call({
    ...call,
    priority: isAwaited ? 'interactive' : 'bulk',
    token: { node, header: () => `Bearer ${text}` },
  })
  if (!result.ok) {
    if (result.fault === 'refusedCredentials') return false
    throw checkFailure(result, 'to check the token')
  }
  const { status } = result.response
  if (status === 200) {
    const version = versionIn(result.response, 'v4')
    if (version !== undefined) cluster.view.versions.note(node, version)
    return true
  }
  throw new EdgeError(920, ` to check the token: status ${status}`)
}

interface IssueParts extends Pick<TokenCheckParts, 'cluster' | 'accepted'> {
  /** Milliseconds. */
  readonly timeout: number
}

/**
 * Returns the text of a token of the master for a user of the manager, whose password was checked. With an authorization
 * context (`run_as`), the master decides about the roles each time.
 */
export async function issueManagerToken(
  request: EdgeRequest,
  { cluster, accepted, timeout }: IssueParts,
): Promise<string> {
  const { caller, endpoint } = request
  const { name, credentials } = caller
  const node = cluster.view.master().name
  const call = createVersionCall(cluster, { node, timeout, caller: name, ...(credentials && { credentials }) })
  if (endpoint.path === RUN_AS) {
    await accepted?.beginLogin(name)
    const issuedAt = systemClock.wall()
    const text = await runAs(cluster, request, call)
    await noteIssued(accepted, text, node, { acceptedAgo: 0, issuedAt })
    return text
  }
  const first = await issue(cluster, call)
  if (await isGood(first)) return textOf(first)
  // The token of an earlier login was ended meanwhile, by a changed role or a log-out.
  await accepted?.beginLogin(name)
  const second = await issue(cluster, call, first)
  await noteIssued(accepted, textOf(second), node, second)
  return textOf(second)

  async function isGood(token: IssuedToken): Promise<boolean> {
    const claimed = await noteIssued(accepted, textOf(token), node, token)
    if (accepted === undefined || claimed === undefined) return true
    const ask = () => askMaster(cluster, claimed, timeout)
    return (await accepted.check(claimed, { ask, askOfUnknown: ask })) !== undefined
  }
}

type IssuedToken = Extract<Issued, { readonly ok: true }>['token']

async function issue(cluster: Cluster, call: NodeCall, refused?: IssuedToken): Promise<IssuedToken> {
  const result = await cluster.issue(call, refused)
  if (result.ok) return result.token
  if (result.fault === 'refusedCredentials') throw new EdgeError(901)
  throw checkFailure(result, 'for a token')
}

function textOf(token: IssuedToken): string {
  return token.header().slice('Bearer '.length)
}

async function noteIssued(
  accepted: AcceptedTokens | undefined,
  text: string,
  node: string,
  times: Pick<IssuedToken, 'acceptedAgo' | 'issuedAt'>,
): Promise<ManagerToken | undefined> {
  const token = readManagerToken(text, node)
  if (token !== undefined) await accepted?.noteIssued(token, times)
  return token
}

const RUN_AS = '/security/user/authenticate/run_as'

async function runAs(cluster: Cluster, request: EdgeRequest, call: NodeCall): Promise<string> {
  const { credentials = { username: '', password: '' } } = request.caller
  const header = () => basicAuthorization(credentials)
  const result = await cluster.call({
    ...call,
    method: 'POST',
    path: RUN_AS,
    endpoint: `POST ${RUN_AS}`,
    retryable: false,
    body: { type: 'application/json', bytes: await jsonInTurns(fieldsOf(request)) },
    token: { node: call.node, header },
  })
  if (!result.ok) {
    if (result.fault === 'refusedCredentials') throw new EdgeError(901)
    throw checkFailure(result, 'for a token')
  }
  const { status, body } = result.response
  const content = Buffer.isBuffer(body) ? parseJson(body) : undefined
  const token = ownText(ownField(content, 'data'), 'token')
  if (status === 200 && token !== undefined) return token
  const title = ownText(content, 'title') ?? 'Permission Denied'
  const number = ownField(content, 'error')
  const detail = ownText(content, 'detail') ?? `status ${status}`
  throw new ProblemError(902, { title, detail, status, ...(typeof number === 'number' && { number }) })
}

/** Returns the error for a call that could not check what it was sent for: 904 while logins are blocked, otherwise 920. */
export function checkFailure(failure: NodeFailure, purpose: string): EdgeError {
  const { fault, retryAfter } = failure
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  if (fault === 'loginsBlocked') return new EdgeError(904, '', { headers })
  return new EdgeError(920, ` ${purpose}: ${describeFailure(failure)}`, { headers, cause: failure })
}
