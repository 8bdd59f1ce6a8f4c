/** Tokens that ended before their time: single ones by `jti`, and all of a user that were issued up to a moment. */
import type { Clock } from './clock.ts'

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
  isRevoked(token: TokenFacts): Promise<boolean>
}

const SWEEP_EVERY = 60_000

/** Known in this process only, and forgotten when the tokens concerned have expired. */
export function memoryRevocations(clock: Clock): Revocations {
  const single = new Map<string, { until: number }>()
  const users = new Map<string, { moment: number; until: number }>()
  let swept = clock.elapsed()

  function sweep(): void {
    if (clock.elapsed() - swept < SWEEP_EVERY) return
    swept = clock.elapsed()
    for (const entries of [single, users] as Map<string, { until: number }>[])
      for (const [key, { until }] of entries) if (until < clock.wall()) entries.delete(key)
  }

  return {
    async revoke(issuer, jti, until) {
      sweep()
      single.set(keyOf(issuer, jti), { until })
    },
    async revokeUpTo(issuer, subject, moment, until) {
      sweep()
      const key = keyOf(issuer, subject)
      users.set(key, { moment: Math.max(moment, users.get(key)?.moment ?? 0), until })
    },
    async revokedUpTo(issuer, subject) {
      return users.get(keyOf(issuer, subject))?.moment ?? 0
    },
    async isRevoked({ issuer, subject, jti, issuedAt }) {
      return single.has(keyOf(issuer, jti)) || issuedAt <= (users.get(keyOf(issuer, subject))?.moment ?? 0)
    },
  }
}

/** The length stands in front: an issuer's name may hold anything. */
function keyOf(issuer: string, name: string): string {
  return `${issuer.length}:${issuer}${name}`
}
