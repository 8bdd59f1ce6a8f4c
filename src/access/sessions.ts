/**
 * Sessions of the operators' console. A session is a signed text in a cookie: no replica stores it, and every replica
 * with the same signing keys accepts it (docs/decisions/0019). It contains who signed in, not what the user may do:
 * roles and permissions are those of the settings at each request.
 */
import { hash, randomUUID } from 'node:crypto'
import type { Caller } from '../core/request.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, ownText } from '../core/values.ts'
import type { JsonObject } from './issuer-keys.ts'
import { type Revocations, requireStored } from './revocations.ts'
import { type ClaimRoles, NO_PERMISSIONS, type Roles, rolesOfWords, wordsOfClaim } from './roles.ts'
import type { SignedTexts } from './signed-texts.ts'

/** What the edge reads from the claims of a user that an outside issuer signs in. */
export interface SignInClaims extends ClaimRoles {
  readonly issuer: string
  /** The claim that names the user. */
  readonly userClaim: string
}

export interface NewSession {
  readonly text: string
  readonly user: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Claims that an outside issuer has signed, and that were verified. */
export type ExternalStart =
  | { readonly ok: true; readonly session: NewSession }
  /** `reason`: what is wrong with the claims, for the user and the log. */
  | { readonly ok: false; readonly reason: string }

export interface Sessions {
  /** Starts a session of a user of the file, whose password was right. */
  startWithPassword(name: string): Promise<NewSession>
  startWithClaims(claims: JsonObject): Promise<ExternalStart>
  /** Returns the caller with its current permissions, or `undefined` if the session is not valid, or no longer. */
  find(text: string): Caller | undefined
  /** Ends one session on all replicas. Rejects with 944 if Redis has not stored it: this replica refuses it at once. */
  end(caller: Caller): Promise<void>
  /** Ends all sessions of a user of the file. Resolves to whether the other replicas will read it. */
  endAllOf(name: string): Promise<boolean>
}

export interface SessionOptions {
  readonly texts: SignedTexts
  readonly revocations: Revocations
  readonly roles: Roles
  /** Returns a text that changes with the user's password; `undefined` if there is no such user. */
  credentialVersion(name: string): string | undefined
  /** Returns the name of a caller that the issuer names. It never equals the name of a user of the file. */
  externalName(issuer: string, user: string): string
  /** Milliseconds. */
  lifetime(): number
  /** `undefined`: no outside issuer signs users in. */
  signIn(): SignInClaims | undefined
  readonly clock: Clock
}

/** In the list of revocations, apart from the edge's own tokens: sessions live longer. */
const REVOCATION_ISSUER = 'manager-edge console'
/** The setting allows no more. */
const MAX_LIFETIME_MS = 24 * 3_600_000
const TYPE = 'edge-session+jwt'
const USER_PATTERN = /^[^\p{Cc}]{1,256}$/u
/** Browsers refuse cookies of more than 4096 bytes, name and attributes included. */
const MAX_TEXT_LENGTH = 3600

interface Stored {
  readonly id: string
  readonly user: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly expiresAt: number
  /** Of a user of the file. */
  readonly version?: string
  /** Of a user of an outside issuer, with the words that its claim of roles had. */
  readonly issuer?: string
  readonly words: readonly string[]
}

export function createSessions(options: SessionOptions): Sessions {
  const { texts, revocations, roles, clock } = options

  async function start(owner: Pick<Stored, 'user' | 'version' | 'issuer' | 'words'>): Promise<NewSession> {
    const { user, version, issuer, words } = owner
    const subject = subjectOf(options, owner)
    const startedAt = Math.max(clock.wall(), (await revocations.revokedUpTo(REVOCATION_ISSUER, subject)) + 1)
    const expiresAt = Math.floor((startedAt + options.lifetime()) / 1000) * 1000
    const claims = { id: randomUUID(), sub: user, at: startedAt, ...(issuer ? { iss: issuer, words } : { version }) }
    return { text: texts.sign(TYPE, claims, expiresAt), user, expiresAt }
  }

  return {
    startWithPassword: (name) => start({ user: name, version: versionOf(options, name) ?? '', words: [] }),
    async startWithClaims(claims) {
      const settings = options.signIn()
      if (settings === undefined) return { ok: false, reason: 'sign-in by an issuer is off' }
      const user = ownText(claims, settings.userClaim)
      if (user === undefined || !USER_PATTERN.test(user))
        return { ok: false, reason: `the issuer sent no claim ${settings.userClaim}, which names the user` }
      // An issuer may send hundreds of groups. Only groups that grant permissions are stored in the cookie.
      const isUsed = (word: string): boolean => roles.permissionsOfRoles(rolesOfWords([word], settings)).length > 0
      const words = wordsOfClaim(claims, settings).filter(isUsed)
      const session = await start({ user, issuer: settings.issuer, words })
      if (session.text.length > MAX_TEXT_LENGTH)
        return { ok: false, reason: 'the user has too many roles for a cookie' }
      return { ok: true, session }
    },
    find(text) {
      const stored = readStored(texts.open(TYPE, text))
      if (stored === undefined || stored.startedAt > clock.wall() + options.lifetime()) return undefined
      const subject = subjectOf(options, stored)
      const { id, startedAt, user, issuer, expiresAt } = stored
      if (revocations.isRevoked({ issuer: REVOCATION_ISSUER, subject, jti: id, issuedAt: startedAt })) return undefined
      // A shorter lifetime applies to sessions that have started before, too.
      if (startedAt + options.lifetime() <= clock.wall()) return undefined
      const names = rolesOf(options, stored)
      if (names === undefined) return undefined
      const permissions =
        issuer === undefined ? (roles.byUser.get(user) ?? NO_PERMISSIONS) : roles.permissionsOfRoles(names)
      const session = { id, user, roles: names, expiresAt, ...(issuer !== undefined && { issuer }) }
      return { name: subject, permissions, session }
    },
    async end({ session }) {
      if (session === undefined) return
      requireStored(await revocations.revoke(REVOCATION_ISSUER, session.id, session.expiresAt))
    },
    endAllOf: (name) => revocations.revokeUpTo(REVOCATION_ISSUER, name, clock.wall(), clock.wall() + MAX_LIFETIME_MS),
  }
}

/** Returns `undefined` if the session has ended: its user or password changed, or its issuer is no longer accepted. */
function rolesOf(options: SessionOptions, { user, version, issuer, words }: Stored): readonly string[] | undefined {
  if (issuer === undefined) {
    const isCurrent = version !== undefined && version === versionOf(options, user)
    return isCurrent ? options.roles.rolesOfUser(user) : undefined
  }
  const settings = options.signIn()
  return settings?.issuer === issuer ? [...new Set(rolesOfWords(words, settings))] : undefined
}

function subjectOf({ externalName }: SessionOptions, { user, issuer }: Pick<Stored, 'user' | 'issuer'>): string {
  return issuer === undefined ? user : externalName(issuer, user)
}

/** A bcrypt hash contains 128 random bits, so its digest reveals nothing about the password. */
function versionOf({ credentialVersion }: SessionOptions, name: string): string | undefined {
  const current = credentialVersion(name)
  return current === undefined ? undefined : hash('sha256', current, 'base64url').slice(0, 22)
}

/** The text is signed by the edge, perhaps in another version of the program, so its members are checked. */
function readStored(claims: JsonObject | undefined): Stored | undefined {
  const id = ownText(claims, 'id')
  const user = ownText(claims, 'sub')
  const startedAt = ownField(claims, 'at')
  const expiresAt = ownField(claims, 'exp')
  const words = ownField(claims, 'words') ?? []
  if (id === undefined || user === undefined || typeof startedAt !== 'number' || typeof expiresAt !== 'number')
    return undefined
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string')) return undefined
  const version = ownText(claims, 'version')
  const issuer = ownText(claims, 'iss')
  const owner = { ...(version !== undefined && { version }), ...(issuer !== undefined && { issuer }) }
  return { id, user, startedAt, expiresAt: expiresAt * 1000, words, ...owner }
}
