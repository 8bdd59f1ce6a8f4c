/** What clients can make a replica remember is bounded: more distinct users, addresses and tokens need no more memory. */
import { generateKeyPairSync } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createSignIns } from '../../../packages/console/server/sign-in/sessions.ts'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { PasswordLogins } from '../../../src/access/logins.ts'
import { createRevocationList } from '../../../src/access/revocations.ts'
import { verifyToken } from '../../../src/access/tokens.ts'
import { type Counters, createCounters } from '../../../src/core/counters.ts'
import { systemClock as clock } from '../../../src/core/timing.ts'
import { SharedRequestCounts } from '../../../src/http/request-counts.ts'
import type { RedisReplica } from '../../../src/replicas/replica.ts'
import { SharedCounters } from '../../../src/replicas/shared-counters.ts'

/** An entry needs several times as much. */
const MAX_GROWTH_PER_ENTRY = 60

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

type Use = (index: number) => unknown

const failedLogins = () => 1_000_000
/** Counters of two replicas that share an unreachable Redis. */
function shared(): Counters {
  const heartbeat = { replicas: 2, onBeat: () => () => undefined }
  const contact = { hasLeases: false, lostAt: 0 }
  return new SharedCounters({ heartbeat, contact, elapsed: clock.elapsed } as unknown as RedisReplica)
}
const addressOf = (index: number) => `2001:db8:${(index >> 16).toString(16)}:${(index & 0xffff).toString(16)}::`

function logins(isRight: boolean): Use {
  const passwords = new PasswordLogins({
    verifyPassword: async () => isRight,
    credentialVersion: () => undefined,
    attempts: new LoginAttempts({ failedLogins, counters: createCounters(clock.elapsed) }),
    limits: { concurrency: 3, maxQueued: 64 },
    clock,
  })
  return (index) => passwords.login(addressOf(index), { username: `user ${index}`, password: 'a password' })
}

/** `maxEntries`: of the largest map. */
const uses: Readonly<Record<string, { readonly maxEntries: number; start(): Use }>> = {
  'failed logins': { maxEntries: 20_000, start: () => logins(false) },
  'users that log in': { maxEntries: 20_000, start: () => logins(true) },
  'failed logins that replicas share': {
    maxEntries: 20_000,
    start: () => {
      const attempts = new LoginAttempts({ failedLogins, counters: shared() })
      return (index) => attempts.count(addressOf(index), `user ${index}`)
    },
  },
  'counted requests': {
    maxEntries: 50_000,
    start: () => {
      const count = new SharedRequestCounts(shared()).count
      return (index) => count('caller', `${index}`, 1000, 500)
    },
  },
  tokens: {
    maxEntries: 20_000,
    start: () => {
      const { publicKey: key } = generateKeyPairSync('ed25519')
      const claimRules = { issuer: 'edge', audience: 'edge', lifetime: 900, jti: 'required' } as const
      const issuer = {
        rules: claimRules,
        cachedKey: () => key,
        findKey: async () => ({ ok: true, key: { key, algorithm: 'EdDSA' } }) as const,
        hasSigned: async () => true,
        acceptsHeader: () => true,
        completeClaims: <T>(claims: T) => claims,
      }
      const revocations = createRevocationList(clock)
      const rules = { issuers: new Map([['edge', issuer]]), revocations, clock }
      const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const iat = Math.floor(Date.now() / 1000)
      return async (index) => {
        const claims = { iss: 'edge', aud: 'edge', sub: `user ${index}`, jti: `token ${index}`, iat, exp: iat + 900 }
        const token = `${segment({ alg: 'EdDSA', kid: 'k' })}.${segment(claims)}.${segment({})}`
        const { ok } = await verifyToken(token, async () => true, rules)
        if (!ok) throw new Error('the token of this test is not valid')
      }
    },
  },
  'sign-ins that nobody completes': {
    maxEntries: 10_000,
    start: () => {
      const texts = {
        sign: (_: string, claims: object) => JSON.stringify(claims),
        open: (_: string, text: string) => JSON.parse(text),
      }
      const signIns = createSignIns({ texts, revocations: createRevocationList(clock) })
      return (index) => signIns.take(signIns.remember({ state: `state ${index}` }))
    },
  },
}

for (const [what, { maxEntries, start }] of Object.entries(uses)) {
  t.test(`memory does not grow with distinct ${what}`, async (t) => {
    const use = start()
    let used = 0
    const fill = async (count: number) => {
      for (const end = used + count; used < end; used++) await use(used)
      collectGarbage()
      return process.memoryUsage().heapUsed
    }
    const full = await fill(2 * maxEntries)
    const more = 3 * maxEntries
    const growth = (await fill(more)) - full
    t.ok(growth < more * MAX_GROWTH_PER_ENTRY, `${growth} bytes more after ${more} more`)
    await use(used)
  })
}
