/**
 * Access of the manager's own users with the manager's tokens: the newer contract in mode `passthrough`. The node that has
 * issued a token is the only one that can check it, so the edge asks it, and remembers the answer for a short time. The
 * claims of a token are foreign input until the node has accepted it.
 */
import { type Clock, systemClock } from '../core/timing.ts'
import { ownField } from '../core/values.ts'
import type { Access, AuthResult, Recheck } from './access.ts'
import type { LoginAttempts } from './login-attempts.ts'
import { parseToken, SUBJECT_PATTERN } from './tokens.ts'

export interface ManagerTokenPorts {
  /** The node that has issued the tokens: logins are sent to it. */
  readonly node: () => string
  /**
   * Resolves to the function that tells whether the acceptance of the token still holds; `undefined`: the node refuses it.
   * `guard` runs the call if the node is asked. Rejects with 920 if the node does not answer, and as `guard` does.
   */
  readonly check: (token: string, guard: GuardCall) => Promise<(() => boolean) | undefined>
  readonly attempts: LoginAttempts
  /** Returns the permissions that the settings give to a user. */
  readonly permissionsOf: (name: string) => readonly string[]
  readonly clock?: Pick<Clock, 'wall'>
}

/** Runs the call that checks a token, or rejects without it. */
export type GuardCall = (ask: () => Promise<boolean>) => Promise<boolean>

const INVALID: AuthResult = { ok: false, reason: 'invalid' }

/** `access` checks names and passwords, for logins. */
export function createManagerTokenAccess(access: Access, ports: ManagerTokenPorts): Access {
  const { node, check, attempts, permissionsOf, clock = systemClock } = ports
  return {
    ...access,
    acceptsTokens: true,
    authenticateToken: async (token, _verifySignature, address) => {
      const claims = claimsOf(token)
      if (claims === undefined || claims.expiresAt <= clock.wall()) return INVALID
      const { name, rights, expiresAt } = claims
      const issuer = node()
      const callerOf = (text: string) => ({
        name,
        permissions: permissionsOf(name),
        rights,
        nodeToken: { node: issuer, header: () => `Bearer ${text}` },
      })
      try {
        const holds = await check(token, countFailures(attempts, address, name))
        if (holds === undefined) return INVALID
        // The token is read from the header again, so that it does not stay in memory after the request.
        const recheck: Recheck = (authorization) =>
          expiresAt > clock.wall() && holds()
            ? callerOf(authorization.slice(authorization.indexOf(' ') + 1))
            : undefined
        return { ok: true, caller: callerOf(token), recheck }
      } catch (error) {
        if (error instanceof BlockedError) return { ok: false, reason: 'blocked', retryAfterMs: error.retryAfterMs }
        throw error
      }
    },
  }
}

/** Too many tokens of this client were refused, so the node is not asked. */
class BlockedError extends Error {
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super('too many refused tokens')
    this.name = 'BlockedError'
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The edge cannot see that a token is forged, so each one costs a call. Refusals count as failed logins do: a client that
 * sends made-up tokens is blocked, and spends no further calls.
 */
function countFailures(attempts: LoginAttempts, address: string, name: string): GuardCall {
  return async (ask) => {
    const decision = await attempts.count(address, name)
    if (!decision.allowed) throw new BlockedError(decision.retryAfterMs)
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

interface Claims {
  readonly name: string
  /** Roles and mode: users with the same ones get the same responses. */
  readonly rights: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Returns the claims of a token; `undefined`: it has not the form of one of the manager. */
function claimsOf(token: string): Claims | undefined {
  const payload = parseToken(token)?.payload
  const [name, exp] = [ownField(payload, 'sub'), ownField(payload, 'exp')]
  const [roles, mode] = [ownField(payload, 'rbac_roles'), ownField(payload, 'rbac_mode')]
  if (typeof name !== 'string' || !SUBJECT_PATTERN.test(name) || typeof exp !== 'number') return undefined
  if (!Array.isArray(roles) || !roles.every(Number.isSafeInteger) || typeof mode !== 'string') return undefined
  const sorted = [...new Set(roles as number[])].sort((a, b) => a - b)
  return { name, rights: `${mode} ${sorted.join(',')}`, expiresAt: exp * 1000 }
}
