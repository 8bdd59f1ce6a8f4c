import t from 'tap'
import { effectiveLifetimes } from '../../../src/cache/effective-lifetimes.ts'
import type { LifetimesOf } from '../../../src/cache/lifetimes.ts'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { catalogue } from '../../../src/contracts/index.ts'

t.test('GET /cache/config shows the lifetimes of each group and of each endpoint, in milliseconds', async (t) => {
  const policies = new Map(
    catalogue.flatMap((endpoint) => {
      const policy = compilePolicy(endpoint)
      return typeof policy === 'string' ? [] : [[endpoint.path as string, policy] as const]
    }),
  )
  const lifetimesOf: LifetimesOf = (group, endpoint) => ({
    ttl: endpoint === '/agents/summary' ? 2000 : group === 'agents' ? 10_000 : 500,
    staleWhileRevalidate: group === 'rules' ? 4000 : 'automatic',
    staleIfError: 60_000,
  })
  const { groups, endpoints } = effectiveLifetimes(policies, lifetimesOf)
  t.equal(Object.keys(endpoints).length, policies.size, 'each endpoint whose responses are stored')
  const agents = { ttlMs: 10_000, staleWhileRevalidateMs: 'automatic', staleIfErrorMs: 60_000 }
  t.strictSame(groups.agents, agents)
  t.strictSame(endpoints['/agents'], { group: 'agents', ...agents })
  t.strictSame(endpoints['/agents/summary'], { group: 'agents', ...agents, ttlMs: 2000 }, 'its own TTL')
  t.match(endpoints['/rules'], { ttlMs: 500, staleWhileRevalidateMs: 4000 })
  t.strictSame(
    endpoints['/manager/configuration/validation'],
    { group: 'validation', ttlMs: 500, staleWhileRevalidateMs: 0, staleIfErrorMs: 0 },
    'a verdict is never served stale',
  )
  t.match(
    endpoints['/manager/status'],
    { staleWhileRevalidateMs: 0, staleIfErrorMs: 0, staleWhileHotMs: 3000 },
    'a status is served stale only while it is requested often',
  )
  t.notOk('/agents/:agent_id/key' in endpoints, 'responses that are never stored have no lifetime')
})
