/** Access with tokens of the manager, for the v4 contract. */
import { EdgeError, retryAfter } from '../core/errors.ts'
import { systemClock } from '../core/timing.ts'
import { type JsonObject, ownField } from '../core/values.ts'
import type { Acceptance } from './accepted-tokens.ts'
import type { Access, Recheck } from './access.ts'
import type { LoginAttempts } from './login-attempts.ts'
import type { ClaimedToken } from './stored-acceptances.ts'
import { INVALID, parseToken, SUBJECT_PATTERN } from './tokens.ts'

interface ManagerTokenPorts {
  /** The node that has issued the tokens: logins are sent to it. */
  readonly node: () => string
  /** Resolves to `undefined` if the node refuses the token. Rejects with 920 if it does not answer, and as `limit` does. */
  readonly check: (token: ManagerToken, limit: LimitRefusals) => Promise<Acceptance | undefined>
  readonly attempts: LoginAttempts
  /** Returns the permissions that the settings give to a user. */
  readonly permissionsOf: (name: string) => readonly string[]
}

/** Runs a call that checks a token, or rejects without it. */
type LimitRefusals = (ask: () => Promise<boolean>) => Promise<boolean>

/**
 * Adds the manager's tokens, for the v4 contract. The node that has issued a token is the only one that can check
 * it, so the edge asks it, and remembers the answer for a short time (access/accepted-tokens.ts). The claims of a token
 * are foreign input until the node has accepted it. `access` checks names and passwords, for logins.
 */
export function createManagerTokenAccess(access: Access, ports: ManagerTokenPorts): Access {
  const { node, check, attempts, permissionsOf } = ports
  return {
    ...access,
    acceptsTokens: true,
    authenticateToken: async (text, _verifyOwn, address) => {
      const issuer = node()
      const token = readManagerToken(text, issuer)
      if (token === undefined || token.expiresAt <= systemClock.wall()) return INVALID
      const { user, rights, expiresAt, context } = token
      const callerOf = (own: string, noteAnswer: () => void, isOnlyForReads?: true) => ({
        name: user,
        ...(context !== undefined && { context }),
        permissions: permissionsOf(user),
        ...(isOnlyForReads && { isOnlyForReads }),
        rights,
        nodeToken: { node: issuer, header: () => `Bearer ${own}`, noteAnswer },
      })
      const acceptance = await check(token, countFailures(attempts, address, user))
      if (acceptance === undefined) return INVALID
      // The token is read from the header again, so that it does not stay in memory after the request.
      const recheck: Recheck = (authorization) => {
        const noteAnswer = expiresAt > systemClock.wall() ? acceptance.current() : undefined
        return noteAnswer && callerOf(authorization.slice(authorization.lastIndexOf(' ') + 1), noteAnswer)
      }
      return { ok: true, caller: callerOf(text, acceptance.noteAnswer, acceptance.isOnlyForReads), recheck }
    },
  }
}

/**
 * The edge cannot see that a token is forged, so each one costs a call. Refusals count as failed logins do: a client that
 * sends made-up tokens is blocked (904), and spends no further calls.
 */
function countFailures(attempts: LoginAttempts, address: string, name: string): LimitRefusals {
  return async (ask) => {
    const decision = await attempts.count(address, name)
    if (!decision.allowed) throw new EdgeError(904, '', { headers: retryAfter(decision.retryAfterMs) })
    try {
      const isAccepted = await ask()
      if (isAccepted) await attempts.succeed(address, name)
      return isAccepted
    } catch (error) {
      await attempts.cancel(address, name)
      throw error
    }
  }
}

/** A token whose claims were read, but not verified. */
export interface ManagerToken extends ClaimedToken {
  /** The digest of the authorization context that the user logged in with (`run_as`). Absent: there was none. */
  readonly context?: string
  /** Roles and mode: users with the same ones get the same responses. */
  readonly rights: string
}

/** Returns the claims of a token; `undefined`: it has not the form of one of the manager. */
export function readManagerToken(text: string, node: string): ManagerToken | undefined {
  const payload = parseToken(text)?.payload
  const [user, exp, nbf] = [ownField(payload, 'sub'), ownField(payload, 'exp'), ownField(payload, 'nbf') ?? 0]
  const [roles, mode] = [ownField(payload, 'rbac_roles'), ownField(payload, 'rbac_mode')]
  if (typeof user !== 'string' || !SUBJECT_PATTERN.test(user)) return undefined
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined
  if (!Array.isArray(roles) || !roles.every(Number.isSafeInteger) || typeof mode !== 'string') return undefined
  // In the order of the token: of two policies about one thing, that of the later role counts.
  const rights = `${mode} ${roles.join(',')}`
  const claims = { series: seriesOf(payload, nbf), issuedAt: issueOf(payload, nbf), expiresAt: exp * 1000 }
  return { text, node, user, roles, ...contextOf(payload), rights, ...claims }
}

/** Releases whose tokens have no digest of the context name it `unknown`. */
function contextOf(payload: JsonObject | undefined): Pick<ManagerToken, 'context'> {
  if (ownField(payload, 'run_as') !== true) return {}
  const digest = ownField(payload, 'hash_auth_context')
  return { context: typeof digest === 'string' && /^\w{1,128}$/.test(digest) ? digest : 'unknown' }
}

/** The claims that are times (RFC 7519 section 4.1). */
const TIMES: ReadonlySet<string> = new Set(['nbf', 'exp', 'iat'])
/**
 * A claim of release 5.0: `nbf` in milliseconds. The node compares it to find out whether a write has ended a token of the same
 * second.
 */
const EXACT_ISSUE = 'nbf_ms'

function issueOf(payload: JsonObject | undefined, nbf: number): number {
  const exact = ownField(payload, EXACT_ISSUE)
  return typeof exact === 'number' ? exact : nbf * 1000
}

/** Times count from `nbf` on: the manager ends tokens of another lifetime than the configured one. */
function seriesOf({ [EXACT_ISSUE]: _, ...payload }: JsonObject = {}, nbf: number): string {
  const claims = Object.entries(payload).map(([name, value]) => [
    name,
    TIMES.has(name) && typeof value === 'number' ? value - nbf : value,
  ])
  return JSON.stringify(claims.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}
