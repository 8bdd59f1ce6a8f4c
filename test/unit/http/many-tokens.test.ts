import Fastify from 'fastify'
import t from 'tap'
import type { Access } from '../../../src/access/access.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'

const USERS = 10_000

t.test('the tokens of 10,000 users in turn are verified once', async (t) => {
  let verified = 0
  const authenticateToken: Access['authenticateToken'] = async (token) => {
    verified += 1
    const caller = { name: token, permissions: [] }
    return { ok: true, caller, recheck: () => caller }
  }
  const app = Fastify()
  t.teardown(() => app.close())
  const access = { acceptsTokens: true, authenticateToken }
  const { authenticate } = await createAuthenticator(app, access as Partial<Access> as Access, {})
  app.get('/', (request, reply) => authenticate(request, reply, '::1', false))
  let accepted = 0
  for (let request = 0; request < 2 * USERS; request += 1) {
    const { statusCode } = await app.inject({ url: '/', headers: { authorization: `Bearer token-${request % USERS}` } })
    if (statusCode === 200) accepted += 1
  }
  t.equal(accepted, 2 * USERS)
  t.equal(verified, USERS)
})
