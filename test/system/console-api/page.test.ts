import { get, type IncomingMessage } from 'node:http'
import t from 'tap'
import type { Now } from '../../../packages/console/server/api-types.ts'
import type { EntryDetails, EntryPage, Groups } from '../../../packages/console/server/cache-types.ts'
import type { History } from '../../../packages/console/server/history-types.ts'
import type { Nodes } from '../../../packages/console/server/node-types.ts'
import { sendRequests, startConsoleEdge, urls } from '../console/edge.ts'

// Responses must not expire on busy machines: the test counts hits.
const ttl = { agents: '1h', summary: '1h', cluster: '1h' }

t.test('the page and its API', async (t) => {
  const edge = await startConsoleEdge({ cache: { ttl } })
  t.teardown(() => edge.close())
  const authorization = edge.authorization('operator')
  /** Returns the response without decoding, unlike fetch. */
  const getRaw = (path: string, headers: Record<string, string> = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(edge.operationsUrl + path, { headers: { authorization, ...headers } }, (response) =>
        resolve(response.resume()),
      ).once('error', reject)
    })
  const read = async <T>(path: string) =>
    (await (await fetch(edge.operationsUrl + path, { headers: { authorization } })).json()) as T

  await t.test('the page is compressed, cacheable, and allows no other host', async (t) => {
    const { statusCode, headers } = await getRaw('/console/', { 'accept-encoding': 'br, gzip' })
    t.equal(statusCode, 200)
    t.match(headers, { 'content-encoding': 'br', 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
    const policy = String(headers['content-security-policy'])
    t.match(policy, "default-src 'none'")
    t.notMatch(policy, /unsafe|\*|http/, 'no exception in the policy')
    const page = await (await fetch(`${edge.operationsUrl}/console/`, { headers: { authorization } })).text()
    t.notMatch(page, /<script>|<style|style=|https?:/, 'no inline script or style, no other host')
    const assets = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => match[1] ?? '')
    t.equal(assets.length, 3)
    for (const asset of assets) {
      const found = await getRaw(`/console/${asset}`, { 'accept-encoding': 'gzip' })
      t.match(found.headers, { 'content-encoding': 'gzip', 'cache-control': /immutable/ }, asset)
      t.equal((await fetch(`${edge.operationsUrl}/console/${asset}`)).status, 401, 'assets need a sign-in')
    }
    for (const path of ['/console/..%2f..%2fpackage.json', '/console/%2e%2e/cli.js', '/console/assets/', '/console/x'])
      t.equal((await getRaw(path)).statusCode, 404, path)
    t.match((await getRaw('/')).headers, { location: '/console/' })
  })

  await t.test('the API reports requests, cache entries and nodes', async (t) => {
    await sendRequests(edge, 3)
    const { totals, cache, operator, edge: self } = await read<Now>('/api/now')
    t.match(totals, { requests: 3 * urls.length, cacheable: 3 * urls.length, hits: 2 * urls.length, failures: 0 })
    t.ok(totals.calls >= urls.length)
    t.match(cache, { enabled: true, shared: false })
    t.match(operator, { name: 'operator', mayPurge: true })
    t.match(self, { ready: true, url: edge.url })

    const { groups, endpoints } = await read<Groups>('/api/groups')
    t.match(
      groups.find(({ group }) => group === 'agents'),
      { entries: 2, hits: 4, misses: 2 },
    )
    t.ok(endpoints.includes('/agents/:agent_id'))

    const found = await read<EntryPage>('/api/entries?tag=agent:000&scope=everyone')
    t.match(found, { total: 1, all: urls.length, items: [{ url: '/agents/000', hits: 2 }] })
    const details = await read<EntryDetails>(`/api/entries/${found.items[0]?.key}`)
    t.match(details, {
      permission: 'agents:read',
      local: true,
      fenced: false,
      body: { shown: true, text: /"id":"000"/ },
    })
    await read('/api/explain?url=/agents/000')
    const again = await (await edge.get('/cache?details=true&tag=agent:000')).json()
    t.match(again, { data: { items: [{ url: '/agents/000', hits: 2 }] } }, 'the console does not count as a hit')
    t.match(await read('/api/entries/nothing'), { error: 603 })
    t.match(await read('/api/entries?sort=secret'), { error: 900 }, 'unknown sort fields are refused')

    const { nodes } = await read<Nodes>('/api/nodes')
    const master = nodes.find(({ type }) => type === 'master')
    t.match(master, { state: 'up', inFlight: 0, limit: 4, failed: 0, errorResponses: 0 })
    t.ok((master?.calls ?? 0) >= urls.length && (master?.p50 ?? 0) > 0)
    t.match(await read('/api/explain?url=/agents'), { cacheable: true, next: { hit: false } })
    t.match(await read('/api/explain?url=/agents/000/key'), { cacheable: false })
    t.match(await read('/api/explain?url=/nothing'), { error: 603 })
  })

  await t.test('the API reports the rows of each node in the last joined responses', async (t) => {
    const logs = '/cluster/*/logs?limit=7'
    const given = (await (await edge.get(logs)).json()) as { data: { totalItems: number } }
    await (await edge.get(logs)).text()
    const { joined } = await read<Nodes>('/api/nodes')
    t.equal(joined.length, 1, 'a response from the cache is not listed')
    const [response] = joined
    t.match(response, { route: '/cluster/:node_ids/logs', ms: Number, ago: Number })
    t.strictSame(response?.nodes.map(({ node }) => node).sort(), edge.simulator.nodes.map(({ name }) => name).sort())
    const sum = (of: 'rows' | 'total') => response?.nodes.reduce((all, part) => all + (part[of] ?? 0), 0)
    t.equal(sum('rows'), 7)
    t.equal(sum('total'), given.data.totalItems)

    await (await edge.get('/cluster/*/logs?limit=3')).text()
    const [next] = (await read<Nodes>('/api/nodes')).joined
    t.notOk(
      next?.nodes.some(({ ms }) => ms !== undefined),
      'all parts came from the cache',
    )
    await edge.simulator.faults.set('worker-1', { nodeDown: true })
    await (await edge.get('/cluster/worker-1,worker-2,made-up/info')).text()
    const [broken] = (await read<Nodes>('/api/nodes')).joined
    t.match(broken?.nodes, [
      { node: 'worker-1', error: 'connection_refused', errorKind: 'failed' },
      { node: 'worker-2', rows: 1, total: 1 },
    ])
    t.notMatch(JSON.stringify(broken), 'made-up', 'no node name that only the client mentioned')
    await edge.simulator.faults.clear()
    for (let at = 0; at < 25; at++) await (await edge.get(`/cluster/*/logs?limit=${at + 10}`)).text()
    t.equal((await read<Nodes>('/api/nodes')).joined.length, 20, 'the last 20')
  })

  await t.test('the API reports an ejected node', async (t) => {
    await edge.simulator.faults.set('master', { apiDown: true })
    for (let at = 0; at < 3; at++) await edge.get(`/agents/00${at + 1}`)
    const { nodes } = await read<Nodes>('/api/nodes')
    const master = nodes.find(({ type }) => type === 'master')
    t.equal(master?.state, 'ejected')
    t.match(master?.lastFailure, { fault: 'unreachable' })
    t.ok((master?.ejectedFor ?? 0) > 0)
    t.ok((master?.failed ?? 0) > 0)
    await fetch(`${edge.url}/cache/rules`, { method: 'DELETE', headers: { authorization } })
    const { events, source } = await read<History>('/api/history?range=5m')
    t.equal(source, 'memory')
    t.match(events, [{ kind: 'start' }, { kind: 'ejection', text: 'master' }, { kind: 'purge', text: 'a group' }])
    t.match(await read('/api/history?range=1y'), { error: 900 }, 'unknown ranges are refused')
  })
})
