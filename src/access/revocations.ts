/** Revoked tokens: single tokens by `jti`, and all tokens of a user that were issued up to a moment. */
import { EdgeError } from '../core/errors.ts'
import type { Clock } from '../core/timing.ts'

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

/** One revocation as replicas exchange it. */
export interface Revocation {
  /** Identifies the token or the user. */
  readonly key: string
  /** Milliseconds since 1970; 0 for a single token. */
  readonly moment: number
  readonly until: number
}

export interface RevocationList extends Revocations {
  /** Adds a revocation of another replica. A revocation is never taken back. */
  merge(revocation: Revocation): void
  /** Returns the revocations whose tokens have not all expired. */
  all(): Iterable<Revocation>
}

const SWEEP_INTERVAL_MS = 60_000
/** A revocation that is not stored is sent again with each heartbeat. */
const STORE_RETRY_S = 1

/** Throws 944 unless all revocations of a log-out are stored: other replicas accept the tokens until then. */
export function requireStored(...areStored: readonly boolean[]): void {
  if (areStored.includes(false)) throw new EdgeError(944, '', { headers: { 'retry-after': `${STORE_RETRY_S}` } })
}

/**
 * Creates a list in memory. `publish` is called with each revocation that is made in this process, and returns whether it
 * is stored for the other replicas.
 */
export function createRevocationList(
  clock: Clock,
  publish: (revocation: Revocation) => Promise<boolean> = async () => true,
): RevocationList {
  const known = new Map<string, Revocation>()
  let sweptAt = clock.elapsed()

  function sweep(): void {
    if (clock.elapsed() - sweptAt < SWEEP_INTERVAL_MS) return
    sweptAt = clock.elapsed()
    for (const [key, { until }] of known) if (until < clock.wall()) known.delete(key)
  }
  function merge({ key, moment, until }: Revocation): void {
    sweep()
    const before = known.get(key)
    known.set(key, {
      key,
      moment: Math.max(moment, before?.moment ?? 0),
      until: Math.max(until, before?.until ?? 0),
    })
  }
  function add(revocation: Revocation): Promise<boolean> {
    merge(revocation)
    return publish(revocation)
  }

  return {
    merge,
    all: () => [...known.values()].filter(({ until }) => until >= clock.wall()),
    revoke: (issuer, jti, until) => add({ key: revocationKey('token', issuer, jti), moment: 0, until }),
    revokeUpTo: (issuer, subject, moment, until) => add({ key: revocationKey('user', issuer, subject), moment, until }),
    async revokedUpTo(issuer, subject) {
      return known.get(revocationKey('user', issuer, subject))?.moment ?? 0
    },
    isRevoked({ issuer, subject, jti, issuedAt }) {
      if (known.size === 0) return false
      const user = known.get(revocationKey('user', issuer, subject))
      return known.has(revocationKey('token', issuer, jti)) || issuedAt <= (user?.moment ?? 0)
    },
  }
}

/** The length of the issuer comes first, because an issuer's name may contain any character. */
function revocationKey(kind: 'token' | 'user', issuer: string, name: string): string {
  return `${kind} ${issuer.length}:${issuer}${name}`
}
