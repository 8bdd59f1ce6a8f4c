/**
 * Access of the manager's own users with the manager's tokens: the newer contract in mode `passthrough`. The node that has
 * issued a token is the only one that can check it, so the edge asks it, and remembers the answer for a short time. The
 * claims of a token are foreign input until the node has accepted it.
 */
import { EdgeError } from '../core/errors.ts'
import { systemClock } from '../core/timing.ts'
import { ownField, parseJson } from '../core/values.ts'
import type { Access, AuthResult, Recheck } from './access.ts'
import type { LoginAttempts } from './login-attempts.ts'

export interface ManagerTokenPorts {
  /** The node that has issued the tokens: logins are sent to it. */
  readonly node: () => string
  /** Whether the token was accepted lately; never asks a node or Redis. */
  readonly isAccepted: (token: string) => boolean
  /** Whether the node accepts the token. `guard` runs the call if the node is asked. Rejects with 920 if it does not answer. */
  readonly check: (token: string, guard: GuardCall) => Promise<boolean>
  readonly attempts: LoginAttempts
  /** Returns the permissions that the settings give to a user. */
  readonly permissionsOf: (name: string) => readonly string[]
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** Runs the call that checks a token, or rejects with 904. */
export type GuardCall = (ask: () => Promise<boolean>) => Promise<boolean>

const MAX_TOKEN_LENGTH = 4096
/** The compact form of a JWT (RFC 7519 section 3). */
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
const MAX_NAME_LENGTH = 512
const INVALID: AuthResult = { ok: false, reason: 'invalid' }

/** `access` checks names and passwords, for logins. */
export function createManagerTokenAccess(access: Access, ports: ManagerTokenPorts): Access {
  const { node, isAccepted, check, attempts, permissionsOf, now = systemClock.wall } = ports
  return {
    ...access,
    acceptsTokens: true,
    authenticateToken: async (token, _verifySignature, address) => {
      const claims = claimsOf(token)
      if (claims === undefined || claims.expiresAt <= now()) return INVALID
      const { name, rights, expiresAt } = claims
      if (!(await check(token, countFailures(attempts, address, name)))) return INVALID
      const issuer = node()
      const callerOf = (text: string) => ({
        name,
        permissions: permissionsOf(name),
        rights,
        nodeToken: { node: issuer, header: () => `Bearer ${text}` },
      })
      // The token is read from the header again, so that it does not stay in memory after the request.
      const recheck: Recheck = (authorization) => {
        const text = authorization.slice(authorization.indexOf(' ') + 1)
        return expiresAt > now() && isAccepted(text) ? callerOf(text) : undefined
      }
      return { ok: true, caller: callerOf(token), recheck }
    },
  }
}

/**
 * The edge cannot see that a token is forged, so each one costs a call. Refusals count as failed logins do: a client that
 * sends made-up tokens is blocked, and spends no further calls.
 */
function countFailures(attempts: LoginAttempts, address: string, name: string): GuardCall {
  return async (ask) => {
    const decision = await attempts.count(address, name)
    if (!decision.allowed) {
      const seconds = Math.max(1, Math.ceil(decision.retryAfterMs / 1000))
      throw new EdgeError(904, '', { headers: { 'retry-after': String(seconds) } })
    }
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
  const payload = token.length > MAX_TOKEN_LENGTH ? undefined : TOKEN_FORM.exec(token)?.[1]
  if (payload === undefined) return undefined
  const claims = parseJson(Buffer.from(payload, 'base64url'))
  const [name, exp] = [ownField(claims, 'sub'), ownField(claims, 'exp')]
  const [roles, mode] = [ownField(claims, 'rbac_roles'), ownField(claims, 'rbac_mode')]
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH || typeof exp !== 'number')
    return undefined
  if (!Array.isArray(roles) || !roles.every(Number.isSafeInteger) || typeof mode !== 'string') return undefined
  const sorted = [...new Set(roles as number[])].sort((a, b) => a - b)
  return { name, rights: `${mode} ${sorted.join(',')}`, expiresAt: exp * 1000 }
}
