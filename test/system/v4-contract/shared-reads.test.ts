/** A read that a client of one contract has made costs a client of the other one no second call, while it is fresh. */
import t, { type Test } from 'tap'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { pathsOf, pathValues } from '../../support/sample-values.ts'
import { simulated } from '../../support/simulated.ts'

const fresh = Object.fromEntries(cacheGroups.map((group) => [group, '10m']))

async function bothPorts(t: Test, ttl: Readonly<Record<string, string>> = fresh) {
  const { simulator, edge } = await simulated(
    t,
    { layout: 'v4', workers: 1, agents: 6 },
    {
      settings: {
        listen: { secondPort: 0 },
        cluster: { layout: 'v4', discover: false, limits: { perMinute: 0 } },
        cache: { ttl, snapshots: { groups: [] } },
        access: { limits: { requestsPerSecond: 100_000 } },
      },
    },
  )
  const basic = { authorization: edge.authorization('admin') }
  const login = await fetch(`${edge.secondUrl}/security/user/authenticate?raw=true`, { method: 'POST', headers: basic })
  const token = { authorization: `Bearer ${await login.text()}` }
  const send = async (base: string | undefined, path: string, headers: Record<string, string>) => {
    const response = await fetch(`${base}${path}`, { headers })
    const [age, cache] = ['age', 'cache-status'].map((name) => response.headers.get(name) ?? '')
    return { status: response.status, age: Number(age), cache: cache ?? '', body: await response.text() }
  }
  /** Returns the calls that arrived at nodes since the last time, without logins and questions for the release. */
  const calls = () => {
    const ofEdge = ['/', '/security/user/authenticate']
    const sent = simulator.seen.splice(0).filter(({ url }) => !ofEdge.includes(url.split('?', 1)[0] ?? ''))
    return sent.map(({ method, url, node }) => ({ method, url, node }))
  }
  return {
    v3: (path: string) => send(edge.url, path, basic),
    v4: (path: string) => send(edge.secondUrl, path, token),
    write: (path: string) => fetch(`${edge.url}${path}`, { method: 'PUT', headers: basic }),
    calls,
  }
}

/** Returns the path of the call about agent 003. Others may find out the release of the node. */
function ofAgent(calls: readonly { readonly url: string }[]): string {
  return calls.find(({ url }) => url.includes('003'))?.url ?? ''
}

/** Paths of all reads of the v4 contract whose responses are stored, as patterns. */
const stored = v4Contract.flatMap((endpoint) => {
  if (endpoint.method !== 'GET' || typeof compilePolicy(endpoint) === 'string') return []
  return new RegExp(`^${endpoint.path.replaceAll(/:[a-z_]+/g, '[^/]+').replaceAll('.', '\\.')}$`)
})
const isStored = (url: string) => stored.some((pattern) => pattern.test(url.split('?', 1)[0] ?? ''))

t.test('what a v3 read has asked a node for is answered to v4 clients without a call', async (t) => {
  const { v3, v4, calls } = await bothPorts(t)
  let shared = 0
  for (const endpoint of catalogue) {
    if (endpoint.method !== 'GET' || endpoint.translation === undefined || typeof compilePolicy(endpoint) === 'string')
      continue
    // Without `fields`, the response has the keys of all agents.
    if (endpoint.allFieldsWithout !== undefined) continue
    const path = endpoint.path.replaceAll(/:([a-z_]+)/g, (_, name: string) => {
      return pathsOf[`GET ${endpoint.path}`]?.[name] ?? pathValues[name] ?? 'x'
    })
    calls()
    await v3(path)
    for (const { method, url, node } of calls()) {
      if (method !== 'GET' || node !== 'master' || !isStored(url)) continue
      const answer = await v4(url)
      const further = calls().filter((call) => call.url === url)
      // An error is not stored, and neither is a response with failed items.
      if (answer.status !== 200 || !answer.body.includes('"error":0')) continue
      t.strictSame(further, [], `${path}: ${url}`)
      t.match(answer.cache, /hit/, `${path}: ${url}`)
      shared += 1
    }
  }
  t.ok(shared > 60, `${shared} calls of v3 reads`)
})

t.test('what v4 clients have read costs v3 clients no call, and its age is shown', async (t) => {
  const { v3, v4, calls } = await bothPorts(t)
  await v3('/agents/003')
  const url = ofAgent(calls())
  const other = url.replace('003', '004')
  t.not(other, url)
  t.equal((await v4(other)).status, 200)
  calls()
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const answer = await v3('/agents/004')
  t.strictSame(calls(), [])
  t.match(JSON.parse(answer.body), { error: 0, data: { id: '004' } })
  t.ok(answer.age >= 1, `Age: ${answer.age}`)
  t.match((await v3('/agents/004')).cache, /hit/)
})

t.test('a response made of a stored one is not fresh for longer than it', async (t) => {
  const { v3, v4, calls } = await bothPorts(t, { ...fresh, agents: '2s' })
  await v3('/agents/003')
  const url = ofAgent(calls()).replace('003', '004')
  const start = performance.now()
  await v4(url)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  calls()
  await v3('/agents/004')
  if (performance.now() - start < 1_900) t.strictSame(calls(), [])
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, 2_200 - (performance.now() - start))))
  calls()
  t.match((await v3('/agents/004')).cache, /fwd=stale|uri-miss/)
  t.equal(calls().length, 1, 'the node is asked again')
})

t.test('after a write of either contract neither is answered from before it', async (t) => {
  const { v3, v4, write, calls } = await bothPorts(t)
  await v3('/agents/003')
  const url = ofAgent(calls())
  t.match((await v4(url)).cache, /hit/)
  t.equal((await write('/agents/003/restart')).status, 200)
  calls()
  await v3('/agents/003')
  t.equal(calls().length, 1)
  t.match((await v4(url)).cache, /hit/)
})
