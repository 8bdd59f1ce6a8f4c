/** Connects the manager's own users and tokens with the nodes that issue and check them. */
import type { Access } from '../access/access.ts'
import { createLoginAttempts } from '../access/login-attempts.ts'
import { createManagerTokenAccess } from '../access/manager-tokens.ts'
import type { AcceptedTokens } from '../cache/accepted-tokens.ts'
import { type Counters, createCounters } from '../core/counters.ts'
import { EdgeError, Problem } from '../core/errors.ts'
import type { NodeCall, NodeFailure } from '../core/node-call.ts'
import { type EdgeRequest, fieldsOf } from '../core/request.ts'
import { systemClock } from '../core/timing.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import type { Cluster } from '../upstream/index.ts'
import { createVersionCall } from '../upstream/probes.ts'
import { basicAuthorization } from '../upstream/tokens/login.ts'

interface TokenCheckParts {
  readonly cluster: Cluster
  /** Absent: the node is asked for each request. */
  readonly accepted: AcceptedTokens | undefined
  /** Milliseconds. */
  readonly timeout: () => number
  /** Shared by replicas. Absent: in memory. */
  readonly counters: Counters | undefined
}

/** Returns the access that asks the master whether it accepts a token. */
export function checkTokensAtNode(access: Access, { cluster, accepted, timeout, counters }: TokenCheckParts): Access {
  const node = () => cluster.view.master().name
  const ask = async (text: string): Promise<boolean> => {
    const token = { node: node(), header: () => `Bearer ${text}` }
    const result = await cluster.call({
      ...createVersionCall(cluster, { node: node(), timeout: timeout(), caller: 'token' }),
      token,
    })
    if (!result.ok) {
      if (result.fault === 'refusedCredentials') return false
      throw checkFailure(result, 'to check the token')
    }
    const { status } = result.response
    if (status === 200) return true
    throw new EdgeError(920, ` to check the token: status ${status}`)
  }
  return createManagerTokenAccess(access, {
    node,
    check: async (token, guard) => {
      const guarded = () => guard(() => ask(token))
      // Without a store, the node is asked for each request.
      if (accepted === undefined) return (await guarded()) ? () => false : undefined
      return (await accepted.check(token, guarded))?.holds
    },
    attempts: createLoginAttempts({
      failedLogins: access.limits.failedLogins,
      counters: counters ?? createCounters(() => systemClock.elapsed()),
    }),
    permissionsOf: (name) => access.permissionsOf?.(name) ?? [],
  })
}

const RUN_AS = '/security/user/authenticate/run_as'

/**
 * Returns the text of a token of the master for a user of the manager, whose password was checked. With an authorization
 * context (`run_as`), the master decides about the roles each time.
 */
export async function issueManagerToken(cluster: Cluster, request: EdgeRequest, timeout: number): Promise<string> {
  const { caller, endpoint } = request
  const { name, credentials } = caller
  const node = cluster.view.master().name
  const call = createVersionCall(cluster, { node, timeout, caller: name, ...(credentials && { credentials }) })
  if (endpoint.path === RUN_AS) return runAs(cluster, request, call)
  const result = await cluster.issue(call)
  if (result.ok) return result.token.header().slice('Bearer '.length)
  if (result.fault === 'refusedCredentials') throw new EdgeError(901)
  throw checkFailure(result, 'for a token')
}

async function runAs(cluster: Cluster, request: EdgeRequest, call: NodeCall): Promise<string> {
  const { username = '', password = '' } = request.caller.credentials ?? {}
  const header = () => basicAuthorization({ username, password })
  const result = await cluster.call({
    ...call,
    method: 'POST',
    path: RUN_AS,
    endpoint: `POST ${RUN_AS}`,
    retryable: false,
    body: { type: 'application/json', bytes: Buffer.from(JSON.stringify(fieldsOf(request))) },
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
  throw new Problem(902, { title, detail, status, ...(typeof number === 'number' && { number }) })
}

/** Returns the error for a call that could not check what it was sent for: 904 while logins are blocked, otherwise 920. */
export function checkFailure({ fault, detail, retryAfter }: NodeFailure, purpose: string): EdgeError {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  if (fault === 'loginsBlocked') return new EdgeError(904, '', { headers })
  return new EdgeError(920, ` ${purpose}: ${detail}`, { headers })
}
