/** Settings of users, tokens and rate limits. */
import { startProvider } from '../issuer.ts'
import { type Proof, unique } from '../proof.ts'

let token = ''

export const proofs: readonly Proof[] = [
  {
    changes: { 'access.roles': { admin: ['reader'] } },
    before: 200,
    after: 403,
    observe: async ({ get }) => (await get('/agents/001/key')).status,
  },
  {
    changes: { 'access.customRoles': { desk: ['rules:read'] }, 'access.roles': { admin: ['desk'] } },
    before: [200, 200],
    after: [403, 200],
    observe: async ({ get }) => [(await get('/agents?limit=1')).status, (await get('/rules?limit=1')).status],
  },
  {
    changes: { 'access.tokens.lifetime': '60s' },
    before: 900,
    after: 60,
    observe: async ({ edge }) => {
      const headers = { authorization: edge.authorization('admin') }
      const response = await fetch(`${edge.url}/security/user/authenticate`, { method: 'POST', headers })
      const { data } = (await response.json()) as { data: { token: string } }
      const { iat, exp } = JSON.parse(Buffer.from(data.token.split('.')[1] ?? '', 'base64url').toString())
      return exp - iat
    },
  },
  {
    changes: { 'access.limits.requestsPerSecond': 3 },
    before: false,
    after: true,
    observe: async ({ get }) => {
      const miss = async () => (await get(`/agents?search=${unique()}`)).status
      return (await Promise.all(Array.from({ length: 20 }, miss))).includes(429)
    },
  },
  {
    start: { settings: { access: { limits: { requestsPerSecond: 3 } }, cache: { ttl: { agents: '10m' } } } },
    changes: { 'access.limits.hitsPerSecond': 4 },
    before: false,
    after: true,
    observe: async ({ get }) => {
      const hit = async () => (await get('/agents?limit=1')).status
      return (await Promise.all(Array.from({ length: 20 }, hit))).includes(429)
    },
  },
  {
    changes: { 'access.limits.failedLogins': 1 },
    before: 401,
    after: 429,
    observe: async ({ edge }) => {
      const headers = { authorization: `Basic ${Buffer.from(`${unique()}:wrong`).toString('base64')}` }
      let last = 0
      for (let at = 0; at < 3; at += 1) last = (await fetch(`${edge.url}/agents`, { headers })).status
      return last
    },
  },
  {
    start: {
      settings: {
        cluster: { discover: false, credentials: { mode: 'passthrough', username: undefined, password: undefined } },
        access: { users: undefined, roles: undefined },
      },
    },
    changes: { 'access.passthroughRole': 'reader' },
    before: 200,
    after: 403,
    observe: async ({ edge }) => {
      const authorization = `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}`
      return (await fetch(`${edge.url}/agents/001/key`, { headers: { authorization } })).status
    },
  },
  {
    start: async (t) => {
      const provider = await startProvider(t)
      token = provider.tokenOf('carol')
      return { settings: { access: { tokens: { issuers: [provider.settings] } } } }
    },
    changes: { 'access.tokens.issuers': [] },
    before: 200,
    after: 401,
    observe: async ({ get }) => (await get('/agents?limit=1', { authorization: `Bearer ${token}` })).status,
  },
]
