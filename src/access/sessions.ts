/**
 * Sessions of the operators' console. A session is a signed text in a cookie: no replica stores it, and every replica
 * with the same signing keys accepts it (docs/decisions/0019). It contains who signed in, not what the user may do:
 * roles and permissions are those of the settings at each request.
 *
 * Sessions, and sign-ins by an outside issuer that are in progress, are JWTs (RFC 7519) with a type of their own (RFC 8725
 * section 3.11), so that no other token of the edge is accepted in their place.
 */
import { hash, randomUUID, sign, verify } from 'node:crypto'
import { OWN_TOKEN_ALGORITHM } from '../core/access.ts'
import { growingLru } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import type { Clock } from '../core/timing.ts'
import { ownField, ownText } from '../core/values.ts'
import type { JsonObject } from './issuer-keys.ts'
import { type Revocations, requireStored } from './revocations.ts'
import { type ClaimRoles, NO_PERMISSIONS, type Roles, rolesOfWords, wordsOfClaim } from './roles.ts'
import type { KeyRing } from './signing-keys.ts'
import { parseToken } from './tokens.ts'

/** What the edge reads from the claims of a user that an outside issuer signs in. */
export interface SignInClaims extends ClaimRoles {
  readonly issuer: string
  readonly userClaim: string
}

interface NewSession {
  readonly text: string
  readonly user: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Claims that an outside issuer has signed, and that were verified. */
type ExternalStart =
  | { readonly ok: true; readonly session: NewSession }
  /** `reason`: what is wrong with the claims, for the user and the log. */
  | { readonly ok: false; readonly reason: string }

export type Sessions = ReturnType<typeof createSessions>

interface SessionOptions {
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

export function createSessions(options: SessionOptions) {
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
    /** Starts a session of a user of the file, whose password was right. */
    startWithPassword: (name: string) => start({ user: name, version: versionOf(options, name) ?? '', words: [] }),
    async startWithClaims(claims: JsonObject): Promise<ExternalStart> {
      const settings = options.signIn()
      if (settings === undefined) return { ok: false, reason: 'sign-in by an issuer is off' }
      const user = ownText(claims, settings.userClaim)
      if (user === undefined || !USER_PATTERN.test(user))
        return { ok: false, reason: `the issuer sent no claim ${settings.userClaim}, which names the user` }
      // An issuer may send hundreds of groups. Only groups that grant permissions are stored in the cookie.
      const isUsed = (word: string): boolean => roles.permissionsOfRoles(rolesOfWords([word], settings)).length > 0
      const words = wordsOfClaim(claims, settings).filter(isUsed)
      if (words.length === 0)
        return {
          ok: false,
          reason: `the claim ${settings.rolesClaim} names nothing that operations.signIn.roles maps to a role`,
        }
      const session = await start({ user, issuer: settings.issuer, words })
      if (session.text.length > MAX_TEXT_LENGTH)
        return { ok: false, reason: 'the user has too many roles for a cookie' }
      return { ok: true, session }
    },
    /** Returns the caller with its current permissions, or `undefined` if the session is not valid, or no longer. */
    find(text: string): Caller | undefined {
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
    /** Ends one session on all replicas. Rejects with 944 if Redis has not stored it: this replica refuses it at once. */
    async end({ session }: Caller): Promise<void> {
      if (session === undefined) return
      requireStored(await revocations.revoke(REVOCATION_ISSUER, session.id, session.expiresAt))
    },
    /** Ends all sessions of a user of the file. Resolves to whether the other replicas will read it. */
    endAllOf: (name: string) =>
      revocations.revokeUpTo(REVOCATION_ISSUER, name, clock.wall(), clock.wall() + MAX_LIFETIME_MS),
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

/** The value of the header `typ`. */
type SignedTextType = 'edge-session+jwt' | 'edge-sign-in+jwt'

type SignedTexts = ReturnType<typeof createSignedTexts>

const SECOND_MS = 1000

export function createSignedTexts(keys: KeyRing, clock: Clock) {
  return {
    /** `until`: milliseconds since 1970. The text is readable for its owner, so it must contain no secret of the edge. */
    sign(type: SignedTextType, claims: JsonObject, until: number): string {
      const { kid, key } = keys.signingKey()
      const header = encode({ alg: OWN_TOKEN_ALGORITHM, typ: type, kid })
      const input = `${header}.${encode({ ...claims, exp: Math.floor(until / SECOND_MS) })}`
      return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
    },
    /** Returns the claims, or `undefined` if the text has expired, has another type or another signer. */
    open(type: SignedTextType, text: string): JsonObject | undefined {
      const parsed = parseToken(text)
      if (parsed === undefined) return undefined
      const { header, payload, signingInput } = parsed
      const kid = ownField(header, 'kid')
      if (ownField(header, 'typ') !== type || ownField(header, 'alg') !== OWN_TOKEN_ALGORITHM) return undefined
      const key = typeof kid === 'string' ? keys.publicKey(kid) : undefined
      const expiresAt = ownField(payload, 'exp')
      if (key === undefined || typeof expiresAt !== 'number') return undefined
      const signature = Buffer.from(text.slice(signingInput.length + 1), 'base64url')
      if (!verify(null, Buffer.from(signingInput), key, signature)) return undefined
      return expiresAt * SECOND_MS > clock.wall() ? payload : undefined
    },
  }
}

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** What the browser keeps from the redirect to an outside issuer until the issuer sends it back. */
export type SignIns = ReturnType<typeof createSignIns>

/** Time for the user to type a password and a second factor at the issuer. */
const SIGN_IN_TIME_MS = 600_000
const SIGN_IN_TYPE = 'edge-sign-in+jwt'
/**
 * Anyone can start sign-ins and not complete them, so those are remembered in this process only, in bounded memory. One
 * that is forgotten can be tried again: the code of the issuer, the state and the verifier protect it as before.
 */
const MAX_TAKEN = 10_000
/** In the list of revocations. */
const SIGN_IN_REVOCATIONS = 'manager-edge sign-in'

export function createSignIns(
  texts: SignedTexts,
  { revocations, clock }: { readonly revocations: Revocations; readonly clock: Clock },
) {
  const taken = growingLru<string, true>(MAX_TAKEN)
  return {
    /** Returns a text for a cookie. */
    remember: (progress: JsonObject) =>
      texts.sign(SIGN_IN_TYPE, { progress, id: randomUUID() }, clock.wall() + SIGN_IN_TIME_MS),
    /** Returns what `remember` got, once: `undefined` for a text that was taken before, expired or was forged. */
    take(text: string) {
      const claims = texts.open(SIGN_IN_TYPE, text)
      const id = ownText(claims, 'id')
      const progress = ownField(claims, 'progress')
      if (id === undefined || typeof progress !== 'object' || progress === null) return undefined
      const identity = { issuer: SIGN_IN_REVOCATIONS, subject: '', jti: id, issuedAt: clock.wall() }
      if (taken.has(id) || revocations.isRevoked(identity)) return undefined
      taken.set(id, true)
      return {
        progress: progress as JsonObject,
        /** Takes the text on all replicas. To be called when the issuer has signed the user in. */
        async complete(): Promise<void> {
          await revocations.revoke(SIGN_IN_REVOCATIONS, id, clock.wall() + SIGN_IN_TIME_MS)
        },
      }
    },
  }
}
