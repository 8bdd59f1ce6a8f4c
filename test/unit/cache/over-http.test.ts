import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('the cache over HTTP', async (t) => {
  const simulator = await startSimulator({ workers: 1, agents: 5, username: 'edge', password: 'only-for-tests' })
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      cluster: { limits: { timeout: '2s', slowTimeout: '4s' } },
      // Long lifetimes, so that the result does not depend on the speed of the test.
      cache: { ttl: { agents: '10m', rules: '10m' }, staleIfError: '60s' },
    },
  })
  t.teardown(async () => {
    await edge.close()
    await simulator.close()
  })

  const call = async (method: string, path: string, user = 'admin') => {
    const response = await fetch(`${edge.url}${path}`, { method, headers: { authorization: edge.authorization(user) } })
    const body = (await response.json()) as { readonly error: number; readonly data?: unknown }
    return { status: response.status, cache: response.headers.get('cache-status') ?? '', ...body }
  }
  const nodeCalls = async (work: () => Promise<unknown>) => {
    const before = simulator.seen.length
    await work()
    return simulator.seen.slice(before).filter(({ url }) => !url.startsWith('/cluster/nodes')).length
  }
  const get = async (path: string, user?: string) => {
    const before = simulator.seen.length
    const response = await call('GET', path, user)
    return { ...response, called: simulator.seen.length > before }
  }

  await t.test('equal requests of all callers and in every spelling are one call to a node', async (t) => {
    const calls = await nodeCalls(() =>
      Promise.all([
        call('GET', '/agents?limit=5&sort=-id'),
        call('GET', '/agents/?sort=-id&offset=0&limit=5&pretty', 'reader'),
        call('GET', '/AGENTS?sort=-id&limit=05', 'operator'),
      ]),
    )
    t.equal(calls, 1)
    t.match(await get('/agents?limit=5&sort=-id'), { cache: /hit/, called: false })
  })

  await t.test('a write invalidates what it touches and nothing else', async (t) => {
    for (const path of ['/agents/001', '/agents/002', '/rules?limit=1', '/agents/groups']) await call('GET', path)
    t.equal((await call('PUT', '/agents/groups/fresh')).error, 0)
    t.equal((await call('PUT', '/agents/001/group/fresh')).error, 0)
    const agent = await get('/agents/001')
    t.ok((agent.data as { group: string[] }).group.includes('fresh'))
    t.ok(JSON.stringify((await get('/agents/groups')).data).includes('"fresh"'))
    t.match(await get('/agents/002'), { cache: /hit/, called: false })
    t.match(await get('/rules?limit=1'), { cache: /hit/, called: false })
  })

  await t.test('a new agent is found at once', async (t) => {
    t.equal((await call('GET', '/agents/name/latecomer')).error, 1701)
    t.equal((await call('PUT', '/agents/latecomer')).error, 0)
    t.match(await call('GET', '/agents/name/latecomer'), { error: 0, data: { name: 'latecomer' } })
  })

  await t.test('the /cache endpoints show and clear the cache, according to permissions', async (t) => {
    await call('GET', '/agents/002')
    t.match(await call('GET', '/cache'), { data: { groups: { agents: Array } } })
    const { data } = await call('GET', '/cache?details=true&search=/agents/002&limit=1')
    t.match(data, { totalItems: 1, items: [{ url: '/agents/002', tags: ['cache', String], hits: Number }] })
    t.match(await call('GET', `/cache/explain?url=${encodeURIComponent('/agents/2')}`), {
      data: { url: '/agents/002', cacheable: true, next: { hit: true } },
    })
    t.match(await call('GET', '/cache/explain?url=/agents/001/key'), { data: { cacheable: false } })
    t.ok((await call('GET', '/cache/explain?url=/nowhere')).error > 0, 'an invalid URL gets the error of its request')
    t.match(await call('GET', '/cache/explain?url=/agents%23%25zz'), { status: 400, error: 604 })
    t.match(await call('GET', '/cache/explain?url=/agents%23no-such-node'), { error: 3022 })
    t.match(await call('DELETE', '/cache/agents?preview=true'), { data: { entries: Number, seconds: Number } })
    t.match(await get('/agents/002'), { called: false })
    t.equal((await call('DELETE', '/cache/agents', 'reader')).status, 403)
    t.match(await get('/agents/002'), { called: false })
    await call('DELETE', '/cache/agents')
    t.match(await get('/agents/002'), { called: true })
    t.notMatch(JSON.stringify(await call('GET', '/cache?details=true')), /\/key"/)
  })

  await t.test('a response that is never stored is fetched for each request', async (t) => {
    for (const path of ['/agents/001/key', '/cluster/config', '/manager/files?path=etc/ossec.conf']) {
      t.equal(await nodeCalls(async () => [await call('GET', path), await call('GET', path)]), 2, path)
    }
  })

  await t.test('with all nodes down, fresh responses are served and writes are rejected', async (t) => {
    await call('GET', '/agents/003')
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
    t.match(await get('/agents/003'), { status: 200, cache: /hit/ })
    const rejected = await call('PUT', '/agents/003/group/web')
    t.ok([502, 503].includes(rejected.status))
    await simulator.faults.clear()
  })
})
