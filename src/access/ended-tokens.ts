/**
 * Tokens of the manager's users that a write through the edge has ended: a log-out, or a change of a user, role, policy or
 * rule. A node checks tokens in two processes and an end reaches one of them, so the other one accepts ended tokens for
 * minutes. The edge therefore refuses them by itself, on all replicas, whatever a node answers.
 */
import { type HasEnded, type Revocations, requireStored } from '../core/access.ts'
import { isOutcomeUnknown, isUnfinished } from '../core/error-meanings.ts'
import type { EdgeWrite, Stage } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'

/** All tokens, or those of some users or roles. */
type Concerned = 'all' | { readonly users: readonly unknown[] } | { readonly roles: readonly unknown[] }

/** An end is stored as long as a token may be good. There is one for each user and role at most. */
const STORED_MS = 366 * 24 * 3_600_000
const ISSUERS = { all: 'manager', user: 'manager user', role: 'manager role' } as const
/** A longer response is not parsed, which would block the event loop: all tokens end. */
const MAX_PARSED_BYTES = 64 * 1024

export function createEndedTokens(revocations: Revocations, clock: Pick<Clock, 'wall'>) {
  const hasEnded: HasEnded = ({ user, roles }, issuedAt) => {
    const isRevoked = (issuer: string, subject: string) => revocations.isRevoked({ issuer, subject, jti: '', issuedAt })
    if (isRevoked(ISSUERS.all, '') || isRevoked(ISSUERS.user, user)) return true
    return roles.some((role) => isRevoked(ISSUERS.role, `${role}`))
  }

  /** Ends the tokens that were issued until now. Resolves to whether the other replicas will read it. */
  async function end(concerned: Concerned): Promise<boolean> {
    const now = clock.wall()
    const revoke = (issuer: string, subject: unknown) =>
      revocations.revokeUpTo(issuer, `${subject}`, now, now + STORED_MS)
    if (concerned === 'all') return revoke(ISSUERS.all, '')
    const [issuer, subjects] =
      'users' in concerned ? ([ISSUERS.user, concerned.users] as const) : ([ISSUERS.role, concerned.roles] as const)
    const areStored = await Promise.all([...new Set(subjects)].map((subject) => revoke(issuer, subject)))
    return !areStored.includes(false)
  }

  /**
   * Around the call of a write, within its fence. Throws 944 for a log-out that the other replicas will not read. If it is not known
   * what the write has changed, all tokens end, unless it creates users.
   */
  const stage: Stage<EdgeWrite> = (next) => async (request) => {
    const { endpoint, caller } = request
    if (endpoint.contract === 'v3' || endpoint.endsTokens === undefined) return next(request)
    const { endsTokens } = endpoint
    let response: EdgeResponse
    try {
      response = await next(request)
    } catch (error) {
      if (isOutcomeUnknown(error) && endsTokens !== 'newUsers') await end('all')
      throw error
    }
    const concerned = concernedBy(endsTokens, caller.name, response)
    const isStored = concerned === undefined || (await end(concerned))
    if (endsTokens === 'caller') requireStored(isStored)
    return response
  }
  return { hasEnded, stage }
}

type EndsTokens = NonNullable<Extract<EdgeWrite['endpoint'], { readonly contract: 'v4' }>['endsTokens']>

/** Returns the tokens that a write has ended; `undefined`: the node has changed nothing. */
function concernedBy(endsTokens: EndsTokens, caller: string, response: EdgeResponse): Concerned | undefined {
  if (isUnfinished(response)) return endsTokens === 'newUsers' ? undefined : 'all'
  if (response.status >= 400) return undefined
  if (endsTokens === 'caller') return { users: [caller] }
  if (endsTokens === 'all') return 'all'
  const isShort = response.kind === 'envelope' && response.body.length <= MAX_PARSED_BYTES
  const contents = isShort ? parseJson(response.body) : undefined
  const rows = ownField(ownField(contents, 'data'), 'affected_items')
  const error = ownField(contents, 'error')
  if (!Array.isArray(rows)) return typeof error === 'number' && error !== 0 ? undefined : 'all'
  const values = (name: string): unknown[] => rows.flatMap((row: unknown) => [ownField(row, name)].flat())
  const named = { users: 'username', newUsers: 'username', roles: 'id', rolesOfRows: 'roles' } as const
  const found = values(named[endsTokens])
  if (found.includes(undefined)) return 'all'
  return named[endsTokens] === 'username' ? { users: found } : { roles: found }
}
