/** Access by a users file: Basic with its passwords, Bearer with own tokens of its users or with those of outside issuers. */
import { availableParallelism } from 'node:os'
import type { Log } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import { type Clock, systemClock } from '../core/timing.ts'
import type { Access, AccessOptions, Entry } from './access.ts'
import { createAttempts } from './login-attempts.ts'
import { BoundedQueue, Logins } from './logins.ts'
import { checkAgainst } from './passwords.ts'
import { memoryRevocations, type Revocations } from './revocations.ts'
import type { Roles } from './roles.ts'
import { ephemeralKeys, type KeyRing, watchKeys } from './signing-keys.ts'
import { type OutsideIssuer, type OwnIssuer, outsideIssuer, ownIssuer, type TokenIssuer } from './token-issuers.ts'
import { clockTolerance, type Shown, type Signed, Tokens } from './tokens.ts'
import { type Users, watchUsers } from './users-file.ts'

/** Hashes at once: each holds a thread of the pool of four that file reads need too. */
const HASHES_AT_ONCE = Math.min(3, availableParallelism())
const HASHES_WAITING = 64

interface Parts {
  readonly users: Users
  readonly roles: Roles
  readonly own: OwnIssuer
  readonly outside: ReadonlyMap<string, OutsideIssuer>
  readonly revocations: Revocations
  readonly clock: Clock
  readonly log: Log
}

export async function fileAccess(options: AccessOptions, file: string, roles: Roles): Promise<Access> {
  const { clock = systemClock, log, limits } = options
  const { revocations = memoryRevocations(clock) } = options
  const outside = options.tokens.issuers.map((settings) => outsideIssuer(settings, { clock, log }))
  const keys = options.tokens.keys === undefined ? ephemeralKeys(log) : await watchKeys(options.tokens.keys, log)
  const own = ownIssuer({ ...options.tokens, keys, revocations, clock })
  const users = await usersOf(file, { own, revocations, clock, log, keys })
  const parts: Parts = { users, roles, own, outside: byName(outside), revocations, clock, log }
  const { attempts = createAttempts({ failures: limits.failedLogins, clock }) } = options
  const queue = new BoundedQueue({ atOnce: HASHES_AT_ONCE, waiting: HASHES_WAITING })
  const logins = new Logins({ check: checkAgainst(users), standing: users.hashOf, attempts, queue, clock })
  const tokens = new Tokens({ issuers: byName([own, ...outside]), revocations, clock })
  return {
    realm: options.realm,
    limits,
    takesTokens: true,
    byPassword: (address, name, password) => byPassword(parts, logins, { address, name, password }),
    byToken: (token, signed) => byToken(parts, tokens, { token, signed }),
    prepareToken: (name) => own.prepare(name),
    revokeTokens: (caller) => revokeTokens(parts, caller),
    assignRoles: roles.assign,
    async close() {
      users.close()
      keys.close()
    },
  }
}

/** A user that is taken out or gets another password loses its tokens too, not only its logins. */
async function usersOf(file: string, parts: Omit<Parts, 'users' | 'roles' | 'outside'> & { keys: KeyRing }) {
  const dropped = (name: string) => {
    endAll(parts, parts.own, name).catch((error: unknown) =>
      parts.log('error', 'tokens of a changed user could not be revoked', { user: name, fault: String(error) }),
    )
  }
  try {
    return await watchUsers(file, parts.log, dropped)
  } catch (error) {
    parts.keys.close()
    throw error
  }
}

async function byPassword(
  { users, roles, log }: Parts,
  logins: Logins,
  { address, name, password }: { address: string; name: string; password: string },
): Promise<Entry> {
  const login = await logins.login(address, name, password)
  if (login.ok) {
    const caller = (): Caller => ({ name, permissions: roles.ofUser(name) })
    return { ok: true, caller: caller(), again: () => (login.stands() ? caller() : undefined) }
  }
  // A name that is not there may be a password in the wrong field.
  const who = users.hashOf(name) === undefined ? {} : { user: name }
  if (login.reason === 'wrong') log('warn', 'login refused', { address, ...who })
  return login
}

async function byToken(
  parts: Parts,
  tokens: Tokens,
  { token, signed }: { token: string; signed: Signed },
): Promise<Entry> {
  const shown = await tokens.show(token, signed)
  if (!shown.ok) return shown
  const who = () => callerOf(parts, shown)
  const caller = who()
  if (caller === undefined) return { ok: false, reason: 'invalid' }
  return { ok: true, caller, again: () => (shown.stands() ? who() : undefined) }
}

/** Whom a good token means at this moment; `undefined`: its user is gone. */
function callerOf(
  { users, roles, own, outside }: Parts,
  { claims, members }: Extract<Shown, { ok: true }>,
): Caller | undefined {
  const { issuer, subject, jti, expiresAt } = claims
  const token = { jti, issuer, expiresAt }
  if (issuer === own.rules.issuer) {
    if (users.hashOf(subject) === undefined) return undefined
    return { name: subject, permissions: roles.ofUser(subject), token }
  }
  const permissions = roles.of(outside.get(issuer)?.rolesOf(members) ?? [])
  return { name: outsideName(issuer, subject), permissions, token }
}

async function revokeTokens(parts: Parts, { name, token }: Caller): Promise<void> {
  const issuer = (token && parts.outside.get(token.issuer)) ?? parts.own
  const subject = issuer === parts.own ? name : name.slice(outsideName(issuer.rules.issuer, '').length)
  await endAll(parts, issuer, subject)
  // By itself as well: an issuer whose clock is ahead may have dated it later than now.
  if (token !== undefined) await parts.revocations.revoke(token.issuer, token.jti, token.expiresAt * 1000)
}

function endAll(
  { revocations, clock }: Pick<Parts, 'revocations' | 'clock'>,
  issuer: TokenIssuer,
  subject: string,
): Promise<void> {
  const now = clock.wall()
  const { issuer: name, lifetime } = issuer.rules
  return revocations.revokeUpTo(name, subject, now, now + (lifetime + clockTolerance) * 1000)
}

/** Never the name of a user of the file: those hold no `#`. */
function outsideName(issuer: string, subject: string): string {
  return `${issuer}#${subject}`
}

function byName<T extends TokenIssuer>(issuers: readonly T[]): ReadonlyMap<string, T> {
  return new Map(issuers.map((issuer) => [issuer.rules.issuer, issuer]))
}
