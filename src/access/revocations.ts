/** Tokens that ended before their time: single ones by `jti`, and all of a user that were issued up to a moment. */
import type { Clock } from '../core/timing.ts'

/** What of a token decides; `issuedAt` in milliseconds. */
export interface TokenFacts {
  readonly issuer: string
  readonly subject: string
  readonly jti: string
  readonly issuedAt: number
}

/** The port: in memory here; replicas may share theirs. `until` (milliseconds, wall clock) is when the last token concerned has expired. */
export interface Revocations {
  revoke(issuer: string, jti: string, until: number): Promise<void>
  /** All tokens of the user that were issued at `moment` or earlier. */
  revokeUpTo(issuer: string, subject: string, moment: number, until: number): Promise<void>
  /** The last such moment of the user, 0 when there is none. */
  revokedUpTo(issuer: string, subject: string): Promise<number>
  /** Asked for each request, so it never waits: what others revoke is heard of. */
  isRevoked(token: TokenFacts): boolean
}

/** One revocation as replicas tell it to one another: of a token, or of all of a user's up to a moment. */
export interface Revocation {
  /** Names the token or the user; says nothing to anybody else. */
  readonly of: string
  /** Milliseconds, wall clock; 0 for a single token. */
  readonly moment: number
  readonly until: number
}

export interface KnownRevocations extends Revocations {
  /** Takes over what another replica told; nothing known is ever taken back. */
  learn(told: Revocation): void
  /** All whose tokens have not expired yet. */
  all(): Iterable<Revocation>
}

const SWEEP_EVERY = 60_000

/** Known in this process, and forgotten when the tokens concerned have expired. `tell` hears each new one. */
export function memoryRevocations(
  clock: Clock,
  tell: (revocation: Revocation) => Promise<void> = async () => {},
): KnownRevocations {
  const known = new Map<string, Revocation>()
  let swept = clock.elapsed()

  function sweep(): void {
    if (clock.elapsed() - swept < SWEEP_EVERY) return
    swept = clock.elapsed()
    for (const [of, { until }] of known) if (until < clock.wall()) known.delete(of)
  }
  function learn({ of, moment, until }: Revocation): void {
    sweep()
    const before = known.get(of)
    known.set(of, {
      of,
      moment: Math.max(moment, before?.moment ?? 0),
      until: Math.max(until, before?.until ?? 0),
    })
  }
  function add(revocation: Revocation): Promise<void> {
    learn(revocation)
    return tell(revocation)
  }

  return {
    learn,
    all: () => [...known.values()].filter(({ until }) => until >= clock.wall()),
    revoke: (issuer, jti, until) => add({ of: nameOf('token', issuer, jti), moment: 0, until }),
    revokeUpTo: (issuer, subject, moment, until) => add({ of: nameOf('user', issuer, subject), moment, until }),
    async revokedUpTo(issuer, subject) {
      return known.get(nameOf('user', issuer, subject))?.moment ?? 0
    },
    isRevoked({ issuer, subject, jti, issuedAt }) {
      if (known.size === 0) return false
      const user = known.get(nameOf('user', issuer, subject))
      return known.has(nameOf('token', issuer, jti)) || issuedAt <= (user?.moment ?? 0)
    },
  }
}

/** The length stands in front: an issuer's name may hold anything. */
function nameOf(kind: 'token' | 'user', issuer: string, name: string): string {
  return `${kind} ${issuer.length}:${issuer}${name}`
}
