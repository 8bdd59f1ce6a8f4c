/** Connects the manager's own users and tokens with the nodes that issue and check them. */
import type { Access } from '../access/access.ts'
import { createManagerTokenAccess } from '../access/manager-tokens.ts'
import type { AcceptedTokens } from '../cache/accepted-tokens.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeFailure } from '../core/node-call.ts'
import type { Caller } from '../core/request.ts'
import type { Cluster } from '../upstream/index.ts'
import { createVersionCall } from '../upstream/probes.ts'

interface TokenCheckParts {
  readonly cluster: Cluster
  /** Absent: the node is asked for each request. */
  readonly accepted: AcceptedTokens | undefined
  /** Milliseconds. */
  readonly timeout: () => number
}

/** Returns the access that asks the master whether it accepts a token. */
export function checkTokensAtNode(access: Access, { cluster, accepted, timeout }: TokenCheckParts): Access {
  const node = () => cluster.view.master().name
  const ask = async (text: string): Promise<boolean> => {
    const token = { node: node(), header: () => `Bearer ${text}` }
    const result = await cluster.call({
      ...createVersionCall(cluster, { node: node(), timeout: timeout(), caller: 'token' }),
      token,
    })
    if (!result.ok) {
      if (result.fault === 'refusedCredentials') return false
      throw unreachable(result, 'to check the token')
    }
    const { status } = result.response
    if (status === 200) return true
    throw new EdgeError(920, ` to check the token: status ${status}`)
  }
  return createManagerTokenAccess(access, {
    node,
    isAccepted: (token) => accepted?.isAccepted(token) ?? false,
    check: (token) => accepted?.check(token, () => ask(token)) ?? ask(token),
    permissionsOf: (name) => access.permissionsOf?.(name) ?? [],
  })
}

/** Returns the text of a token of the master for a user of the manager, whose password was checked. */
export async function issueManagerToken(
  cluster: Cluster,
  name: string,
  credentials: NonNullable<Caller['credentials']>,
  timeout: number,
): Promise<string> {
  const node = cluster.view.master().name
  const result = await cluster.issue(createVersionCall(cluster, { node, timeout, caller: name, credentials }))
  if (result.ok) return result.token.header().slice('Bearer '.length)
  if (result.fault === 'refusedCredentials') throw new EdgeError(901)
  throw unreachable(result, 'for a token')
}

function unreachable({ detail, retryAfter }: NodeFailure, purpose: string): EdgeError {
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
  return new EdgeError(920, ` ${purpose}: ${detail}`, { headers })
}
