import t from 'tap'
import { createRevocationList } from '../../../src/access/revocations.ts'

t.test('a revocation covers exactly its tokens, and is forgotten when they have expired', async (t) => {
  const time = { now: 1000 }
  const revocations = createRevocationList({ wall: () => time.now, elapsed: () => time.now })
  const token = { issuer: 'i', subject: 'bob', jti: 'one', issuedAt: 900 }
  await revocations.revokeUpTo('i', 'bob', 950, 70_000)
  t.ok(revocations.isRevoked(token))
  t.notOk(revocations.isRevoked({ ...token, issuedAt: 951 }))
  t.notOk(revocations.isRevoked({ ...token, issuer: 'ib', subject: 'ob' }))
  await revocations.revoke('i', 'two', 70_000)
  t.ok(revocations.isRevoked({ ...token, subject: 'carol', jti: 'two' }))
  time.now = 80_000
  await revocations.revoke('i', 'three', 90_000)
  t.notOk(revocations.isRevoked(token))
})
