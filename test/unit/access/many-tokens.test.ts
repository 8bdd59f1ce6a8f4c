import t from 'tap'
import { type TokenIssuer, TokenVerifier } from '../../../src/access/tokens.ts'
import { systemClock } from '../../../src/core/timing.ts'

const USERS = 10_000
const rules = { issuer: 'edge', audience: 'manager', lifetime: 900, jti: 'required' } as const
const issuer: TokenIssuer = {
  rules,
  cachedKey: () => 'pem',
  findKey: async () => ({ ok: true, key: { pem: 'pem', algorithm: 'EdDSA' } }),
  acceptsHeader: () => true,
  completeClaims: (claims) => claims,
}
const revocations = {
  revoke: async () => true,
  revokeUpTo: async () => true,
  revokedUpTo: async () => 0,
  isRevoked: () => false,
}

t.test('the signatures of the tokens of 10,000 users in turn are verified once', async (t) => {
  const verifier = new TokenVerifier({ issuers: new Map([['edge', issuer]]), revocations, clock: systemClock })
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const tokenOf = (user: number) => {
    const claims = { iss: 'edge', aud: 'manager', sub: `user-${user}`, jti: `token-${user}`, iat: now, exp: now + 900 }
    return `${encode({ alg: 'EdDSA', kid: 'k', typ: 'JWT' })}.${encode(claims)}.${Buffer.alloc(64).toString('base64url')}`
  }
  let verified = 0
  const verifySignature = async () => {
    verified += 1
    return true
  }
  for (let round = 0; round < 2; round += 1) {
    let accepted = 0
    for (let user = 0; user < USERS; user += 1) {
      if ((await verifier.verify(tokenOf(user), verifySignature)).ok) accepted += 1
    }
    t.equal(accepted, USERS)
  }
  t.equal(verified, USERS)
})
