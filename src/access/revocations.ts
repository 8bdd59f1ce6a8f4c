/** Revoked tokens: single tokens by `jti`, and all tokens of a user that were issued up to a moment. */
import type { Revocations } from '../core/access.ts'
import type { Clock } from '../core/timing.ts'

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
