/**
 * Access with a users file: Basic with the passwords of the file, Bearer with the edge's own tokens of these users or
 * with tokens of external issuers.
 */
import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { EDGE_NAME, externalUserName, type Revocations, requireStored, SESSION_REVOCATIONS } from '../core/access.ts'
import type { Log } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import { CLOCK_TOLERANCE_S, type Clock, systemClock } from '../core/timing.ts'
import type { NameAndPassword } from '../core/values.ts'
import type { Access, AccessOptions, AuthResult, Recheck } from './access.ts'
import { createPasswordLogins, type PasswordLogins } from './logins.ts'
import { createPasswordVerifier } from './passwords.ts'
import { createRevocationList } from './revocations.ts'
import { NO_PERMISSIONS, type Roles } from './roles.ts'
import { createSignedTexts } from './signed-texts.ts'
import { createEphemeralKeys, type KeyRing, watchSigningKeys } from './signing-keys.ts'
import { createExternalIssuers, createOwnIssuer, type ExternalIssuers, type OwnIssuer } from './token-issuers.ts'
import { type TokenIssuer, type TokenResult, verifyToken } from './tokens.ts'
import { type Users, watchUsers } from './users-file.ts'

/** Each hash occupies a thread of libuv's pool of four, which file reads need too. */
const MAX_CONCURRENT_HASHES = Math.min(3, availableParallelism())
const MAX_QUEUED_HASHES = 64
/** `operations.signIn.lifetime` allows no more. */
const MAX_SESSION_MS = 24 * 3_600_000

interface Parts {
  readonly users: Users
  readonly roles: Roles
  readonly own: OwnIssuer
  readonly external: ExternalIssuers
  readonly revocations: Revocations
  readonly clock: Clock
  readonly log: Log
}

export async function createFileAccess(options: AccessOptions, file: string, roles: Roles): Promise<Access> {
  const { clock = systemClock, log, tokens } = options
  const { revocations = createRevocationList(clock) } = options
  const external = createExternalIssuers(tokens.issuers, { clock, log })
  const keys =
    tokens.keys === undefined
      ? createEphemeralKeys(log)
      : await forSetting('access.tokens.keys', watchSigningKeys(tokens.keys, log))
  const own = createOwnIssuer({ ...tokens, keys, revocations, clock })
  let logins: PasswordLogins | undefined
  const forgetLogins = (name: string) => logins?.forget(name)
  const users = await watchUsersOrClose(file, { own, revocations, clock, log, keys, forgetLogins })
  const parts: Parts = { users, roles, own, external, revocations, clock, log }
  const passwords = createPasswordLogins(options, {
    verifyPassword: createPasswordVerifier(users),
    credentialVersion: users.hashOf,
    limits: { concurrency: MAX_CONCURRENT_HASHES, maxQueued: MAX_QUEUED_HASHES },
  })
  logins = passwords
  const issuers = { get: (name: string) => (name === EDGE_NAME ? own : external.get(name)) }
  return {
    acceptsTokens: true,
    sessions: {
      texts: createSignedTexts(keys, clock),
      revocations,
      findUser: (name) => {
        const version = versionOf(users, name)
        return version === undefined ? undefined : { roles: roles.rolesOfUser(name), version }
      },
      permissionsOfRoles: roles.permissionsOfRoles,
    },
    rolesOf: ({ name, token, session }) => {
      if (session !== undefined) return session.roles
      return token === undefined || token.issuer === EDGE_NAME ? roles.rolesOfUser(name) : undefined
    },
    authenticatePassword: (address, pair) => authenticatePassword(parts, passwords, address, pair),
    authenticateToken: async (token, verifyOwn) =>
      authResultOf(parts, await verifyToken(token, verifyOwn, { issuers, revocations, clock })),
    issueToken: own.issue,
    revokeTokens: (caller) => revokeTokens(parts, caller),
    prepareReload: (next) => {
      const applyRoles = roles.prepare(next.roles, next.customRoles)
      const applyIssuers = external.prepare(next.issuers ?? tokens.issuers)
      return () => {
        applyRoles()
        applyIssuers()
      }
    },
    fileDigests: () => ({ 'access.users': users.digest(), 'access.tokens.keys': keys.digest() }),
    async close() {
      users.close()
      keys.close()
    },
  }
}

/** The message of a failed start begins with the setting that names the file. */
function forSetting<Value>(name: string, value: Promise<Value>): Promise<Value> {
  return value.catch(({ message }: Error) => Promise.reject(new Error(`${name}: ${message}`)))
}

/** Loads the users file; closes the keys if that fails. A user that is removed or changed loses its logins and tokens too. */
async function watchUsersOrClose(
  file: string,
  parts: Pick<Parts, 'own' | 'revocations' | 'clock' | 'log'> & {
    readonly keys: KeyRing
    forgetLogins(name: string): void
  },
): Promise<Users> {
  const onUserChanged = (name: string): void => {
    parts.forgetLogins(name)
    revokeAllTokens(parts, parts.own, name).catch((error: unknown) =>
      parts.log('error', 'tokens of a changed user could not be revoked', { user: name, fault: String(error) }),
    )
  }
  try {
    return await forSetting('access.users', watchUsers(file, parts.log, onUserChanged))
  } catch (error) {
    parts.keys.close()
    throw error
  }
}

async function authenticatePassword(
  { users, roles, log }: Parts,
  logins: PasswordLogins,
  address: string,
  pair: NameAndPassword,
): Promise<AuthResult> {
  const name = pair.username
  const login = await logins.login(address, pair)
  if (login.ok) {
    const recheck: Recheck = (_, from) =>
      login.isCurrent(from) ? { name, permissions: roles.byUser.get(name) ?? NO_PERMISSIONS } : undefined
    return { ok: true, caller: { name, permissions: roles.byUser.get(name) ?? NO_PERMISSIONS }, recheck }
  }
  // An unknown name is not logged: it may be a password in the wrong field.
  const user = users.hashOf(name) === undefined ? {} : { user: name }
  if (login.reason === 'wrong') log('warn', 'login refused', { address, ...user })
  return login
}

function authResultOf(parts: Parts, result: TokenResult): AuthResult {
  if (!result.ok) return result
  const findCaller = () => callerOf(parts, result)
  const caller = findCaller()
  if (caller === undefined) return { ok: false, reason: 'invalid' }
  return { ok: true, caller, recheck: () => (result.isCurrent() ? findCaller() : undefined) }
}

/** Returns the caller of a valid token with its current roles; `undefined` if its user was removed. */
function callerOf(
  { users, roles, own, external }: Parts,
  { claims, payload }: Extract<TokenResult, { ok: true }>,
): Caller | undefined {
  const { issuer, subject, jti, expiresAt } = claims
  const token = { jti, issuer, expiresAt }
  if (issuer === own.rules.issuer) {
    if (users.hashOf(subject) === undefined) return undefined
    return { name: subject, permissions: roles.byUser.get(subject) ?? NO_PERMISSIONS, token }
  }
  const permissions = roles.permissionsOfRoles(external.get(issuer)?.roleNames(payload) ?? [])
  return { name: externalUserName(issuer, subject), permissions, token }
}

async function revokeTokens(parts: Parts, { name, token }: Caller): Promise<void> {
  const issuer = (token && parts.external.get(token.issuer)) ?? parts.own
  const subject = issuer === parts.own ? name : name.slice(externalUserName(issuer.rules.issuer, '').length)
  // All of them start before the first reply: a slow Redis must not delay any of them in this process.
  const areStored = await Promise.all([
    revokeAllTokens(parts, issuer, subject),
    issuer !== parts.own || endSessions(parts, name),
    // The token is also revoked by its `jti`: an issuer whose clock is ahead may have dated it later than now.
    token === undefined || parts.revocations.revoke(token.issuer, token.jti, token.expiresAt * 1000),
  ])
  requireStored(...areStored)
}

/** Ends all console sessions of a user of the file. Resolves to whether the other replicas will read it. */
function endSessions({ revocations, clock }: Parts, name: string): Promise<boolean> {
  return revocations.revokeUpTo(SESSION_REVOCATIONS, name, clock.wall(), clock.wall() + MAX_SESSION_MS)
}

/** A bcrypt hash contains 128 random bits, so its digest reveals nothing about the password. */
function versionOf(users: Users, name: string): string | undefined {
  const current = users.hashOf(name)
  return current === undefined ? undefined : hash('sha256', current, 'base64url').slice(0, 22)
}

function revokeAllTokens(
  { revocations, clock }: Pick<Parts, 'revocations' | 'clock'>,
  issuer: TokenIssuer,
  subject: string,
): Promise<boolean> {
  const now = clock.wall()
  const { issuer: name, lifetime } = issuer.rules
  return revocations.revokeUpTo(name, subject, now, now + (lifetime + CLOCK_TOLERANCE_S) * 1000)
}
