/**
 * Sessions of the operators' console. A session is a signed text in a cookie: no replica stores it, and every replica
 * with the same signing keys accepts it (docs/decisions/0019). It contains who signed in, not what the user may do:
 * roles and permissions are those of the settings at each request.
 */
import { randomUUID } from 'node:crypto'
import { rolesOfWords, wordsOfClaim } from '../../../../src/access/roles.ts'
import { externalUserName, requireStored, SESSION_REVOCATIONS } from '../../../../src/core/access.ts'
import { growingLru } from '../../../../src/core/recently-used.ts'
import type { Caller } from '../../../../src/core/request.ts'
import { systemClock } from '../../../../src/core/timing.ts'
import { type JsonObject, ownField, ownText } from '../../../../src/core/values.ts'
import type { SessionsView } from '../../../../src/status/edge-view.ts'

export interface NewSession {
  /** The value of the cookie. */
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

export function createSessions(edge: SessionsView, clock = systemClock) {
  const { texts, revocations, permissionsOfRoles, settings } = edge

  async function start(owner: Pick<Stored, 'user' | 'version' | 'issuer' | 'words'>): Promise<NewSession> {
    const { user, version, issuer, words } = owner
    const subject = subjectOf(owner)
    const startedAt = Math.max(clock.wall(), (await revocations.revokedUpTo(SESSION_REVOCATIONS, subject)) + 1)
    const expiresAt = Math.floor((startedAt + settings().lifetime) / 1000) * 1000
    const claims = { id: randomUUID(), sub: user, at: startedAt, ...(issuer ? { iss: issuer, words } : { version }) }
    return { text: texts.sign(TYPE, claims, expiresAt), user, expiresAt }
  }

  return {
    /** Starts a session of a user of the file, whose password was right. */
    startWithPassword: (name: string) => start({ user: name, version: edge.findUser(name)?.version ?? '', words: [] }),
    async startWithClaims(claims: JsonObject): Promise<ExternalStart> {
      const { issuer } = settings()
      if (issuer === undefined) return { ok: false, reason: 'sign-in by an issuer is off' }
      const user = ownText(claims, issuer.userClaim)
      if (user === undefined || !USER_PATTERN.test(user))
        return { ok: false, reason: `the issuer sent no claim ${issuer.userClaim}, which names the user` }
      // An issuer may send hundreds of groups. Only groups that grant permissions are stored in the cookie.
      const isUsed = (word: string): boolean => permissionsOfRoles(rolesOfWords([word], issuer)).length > 0
      const words = wordsOfClaim(claims, issuer).filter(isUsed)
      if (words.length === 0)
        return {
          ok: false,
          reason: `the claim ${issuer.rolesClaim} names nothing that operations.signIn.roles maps to a role`,
        }
      const session = await start({ user, issuer: issuer.issuer, words })
      if (session.text.length > MAX_TEXT_LENGTH)
        return { ok: false, reason: 'the user has too many roles for a cookie' }
      return { ok: true, session }
    },
    /** Returns the caller with its current permissions, or `undefined` if the session is not valid, or no longer. */
    find(text: string): Caller | undefined {
      const stored = readStored(texts.open(TYPE, text))
      if (stored === undefined || stored.startedAt > clock.wall() + settings().lifetime) return undefined
      const subject = subjectOf(stored)
      const { id, startedAt, user, issuer, expiresAt } = stored
      if (revocations.isRevoked({ issuer: SESSION_REVOCATIONS, subject, jti: id, issuedAt: startedAt }))
        return undefined
      // A shorter lifetime applies to sessions that have started before, too.
      if (startedAt + settings().lifetime <= clock.wall()) return undefined
      const names = rolesOf(edge, stored)
      if (names === undefined) return undefined
      const session = { id, user, roles: names, expiresAt, ...(issuer !== undefined && { issuer }) }
      return { name: subject, permissions: permissionsOfRoles(names), session }
    },
    /** Ends one session on all replicas. Rejects with 944 if Redis has not stored it: this replica refuses it at once. */
    async end({ session }: Caller): Promise<void> {
      if (session === undefined) return
      requireStored(await revocations.revoke(SESSION_REVOCATIONS, session.id, session.expiresAt))
    },
  }
}

/** Returns `undefined` if the session has ended: its user or password changed, or its issuer is no longer accepted. */
function rolesOf(
  { findUser, settings }: SessionsView,
  { user, version, issuer, words }: Stored,
): readonly string[] | undefined {
  if (issuer === undefined) {
    const found = findUser(user)
    return found !== undefined && version === found.version ? found.roles : undefined
  }
  const accepted = settings().issuer
  return accepted?.issuer === issuer ? [...new Set(rolesOfWords(words, accepted))] : undefined
}

function subjectOf({ user, issuer }: Pick<Stored, 'user' | 'issuer'>): string {
  return issuer === undefined ? user : externalUserName(issuer, user)
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

/** What the browser keeps from the redirect to an outside issuer until the issuer sends it back. */
export function createSignIns(
  { texts, revocations }: Pick<SessionsView, 'texts' | 'revocations'>,
  clock = systemClock,
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
