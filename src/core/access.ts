/**
 * What several rooms need of access: permissions, the built-in roles and the algorithms of tokens. A permission is
 * `resource:action`, a role is a list of permissions. `agents:*` is every action on agents, `*:read` is reading
 * everything, `*` (or `*:*`) is everything. What is not granted is denied.
 */

import type { Endpoint } from '../contracts/endpoint.ts'
import { EdgeError } from './errors.ts'
import roles from './roles.json' with { type: 'json' }
import type { JsonObject } from './values.ts'

/** The name of the edge: the realm of its challenges, and issuer and audience of its own tokens. */
export const EDGE_NAME = 'manager-edge'

/**
 * The roles that exist without any setting.
 * - `reader` reads everything except secrets and the operations listener.
 * - `operator` does the everyday work on agents and groups (add, change, remove and restart agents), starts scans, tests
 *   rules and purges the cache. It reads secrets, because registering an agent involves its key. It does not upgrade
 *   agents or run commands on them (both act as root on every host), restart the manager or the cluster, write or delete
 *   files of the manager, change its users and roles, send it events, or clear scan results, which are evidence.
 * - `administrator` does everything.
 * - `passthrough` does what the manager itself authorises, request by request, and reads its own stored responses. The
 *   manager does not authorise the operations of the edge, so the role has none that shows or touches what others do.
 */
export const builtInRoles: Readonly<Record<keyof typeof roles, readonly string[]>> = roles

/** Every stored response, of whatever permission scope. */
export const READ_CACHE = 'cache:read'
/** The stored responses of the caller's own permission scope. */
const READ_OWN_CACHE = 'cache:read-own'

/**
 * These permissions cover more than reading: agent keys, the cluster key and file contents; the internals of the
 * edge. They are granted by name, by `secrets:*` or by `*`, never by `*:read`, so that a read-only role is harmless.
 */
const GRANTED_BY_NAME: ReadonlySet<string> = new Set(['secrets:read', 'operations:read'])

/** Returns whether one of the granted permissions covers the needed one, which has the form `resource:action`. */
export function allows(granted: readonly string[], needed: string): boolean {
  const colon = needed.indexOf(':')
  if (colon < 1 || needed.includes('*')) return false
  const wholeResource = `${needed.slice(0, colon)}:*`
  const allResources = GRANTED_BY_NAME.has(needed) ? undefined : `*${needed.slice(colon)}`
  if (needed === READ_OWN_CACHE && allows(granted, READ_CACHE)) return true
  return granted.some(
    (permission) =>
      permission === needed ||
      permission === wholeResource ||
      permission === allResources ||
      permission === '*' ||
      permission === '*:*',
  )
}

/** The field of the manager's tables that holds agent keys. Sorting or filtering by it reveals it bit by bit. */
const SECRET_FIELD = 'internal_key'

/** Kinds of value that contain field names. Of the v4 contract all values count. */
const FIELD_NAMING_KINDS: ReadonlySet<string> = new Set(['sort', 'query', 'select', 'described'])

/**
 * Returns whether the parameters ask for a secret field: one is named, or all fields are asked for. Such a request needs
 * `secrets:read`, and its response is never stored.
 */
export function asksForSecret(endpoint: Endpoint, query: Readonly<Record<string, string>>): boolean {
  if (endpoint.allFieldsWithout !== undefined && !query[endpoint.allFieldsWithout]) return true
  for (const [name, { kind }] of Object.entries(endpoint.query))
    if (FIELD_NAMING_KINDS.has(kind) && query[name]?.toLowerCase().includes(SECRET_FIELD)) return true
  return false
}

/** Signature algorithms of tokens (RFC 7518 section 3.1, RFC 8037): asymmetric ones only. */
export const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'EdDSA',
] as const

export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number]

/** The user that a token of the manager is for: the name, and the ids of its roles. */
export interface TokenSubject {
  readonly user: string
  readonly roles: readonly number[]
}

/**
 * Whether a write through the edge has ended a token. `issuedAt`, in milliseconds since 1970 by the clock of a replica: of a
 * login through the edge, when the login was sent, so that no write that ended later is missed; of any other token, the latest
 * time that its claims permit.
 */
export type HasEnded = (token: TokenSubject, issuedAt: number) => boolean

/** The claims of a token that decide whether it is revoked. `issuedAt` in milliseconds since 1970. */
export interface TokenIdentity {
  readonly issuer: string
  readonly subject: string
  readonly jti: string
  readonly issuedAt: number
}

/**
 * Revocations of tokens, in memory or shared by replicas. `until` is the time in milliseconds since 1970 when the last
 * token concerned has expired; the revocation may be forgotten then. This process refuses the tokens at once. The
 * results are whether the other replicas will read the revocation: `false` until Redis has stored it.
 */
export interface Revocations {
  revoke(issuer: string, jti: string, until: number): Promise<boolean>
  /** Revokes all tokens of the user that were issued at `moment` or earlier. */
  revokeUpTo(issuer: string, subject: string, moment: number, until: number): Promise<boolean>
  /** Resolves to the latest such moment of the user; 0 if there is none. */
  revokedUpTo(issuer: string, subject: string): Promise<number>
  /** Called for each request, so it is synchronous and uses what this process knows. */
  isRevoked(token: TokenIdentity): boolean
}

/** A revocation that is not stored is sent again with each heartbeat. */
const STORE_RETRY_S = 1

/** Throws 944 unless all revocations of a log-out are stored: other replicas accept the tokens until then. */
export function requireStored(...areStored: readonly boolean[]): void {
  if (areStored.includes(false)) throw new EdgeError(944, '', { headers: { 'retry-after': `${STORE_RETRY_S}` } })
}

/** Texts that the edge signs with the keys of its tokens. All replicas with the same keys accept them. */
export interface SignedTexts {
  /** `until`: milliseconds since 1970. The text is readable for its owner, so it must contain no secret of the edge. */
  sign(type: SignedTextType, claims: JsonObject, until: number): string
  /** Returns the claims, or `undefined` if the text has expired, has another type or another signer. */
  open(type: SignedTextType, text: string): JsonObject | undefined
}

/** The value of the header `typ`, which is another one than that of tokens. */
type SignedTextType = `edge-${string}+jwt`

/** In the list of revocations, the sessions of operators, apart from the edge's own tokens: sessions live longer. */
export const SESSION_REVOCATIONS = 'manager-edge console'

/** What sessions of operators are made of. */
export interface SessionParts {
  readonly texts: SignedTexts
  readonly revocations: Omit<Revocations, 'revokeUpTo'>
  /** Returns the roles of a user of the file, and a text that changes with the password. `undefined`: there is no such user. */
  findUser(name: string): { readonly roles: readonly string[]; readonly version: string } | undefined
  /** Returns the permissions of these roles. A role that does not exist grants nothing. */
  permissionsOfRoles(names: readonly string[]): readonly string[]
}

/** Returns the name of a caller that an outside issuer names. A name in the users file contains no `#`. */
export function externalUserName(issuer: string, subject: string): string {
  return `${issuer}#${subject}`
}
