/** The advice about lifetimes, compared with what really happens when an operator follows it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import type { Advice } from '../../../src/admin/console/advice-types.ts'
import { merge } from '../../support/edge.ts'
import { reloadable } from '../reload/edge.ts'

const READ_INTERVAL_MS = 50
const AUTHORIZATION = `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}`

async function edgeWith(t: Test, cache: object) {
  const settings = { cache: { snapshots: { groups: [] }, ...cache } }
  const world = { workers: 0, agents: 5, username: 'edge' }
  const { simulator, edge, put } = await reloadable(t, settings, world)
  const headers = { authorization: edge.authorization('admin') }
  const read = async (path: string): Promise<string> => (await fetch(edge.url + path, { headers })).text()
  const advise = async (query = ''): Promise<Advice> =>
    (await fetch(`${edge.operationsUrl}/api/advice${query}`, { headers })).json() as Promise<Advice>
  /** Reads the paths in turn for this time, one after the other. */
  const readFor = async (ms: number, paths: readonly string[], onRead: (body: string) => void = () => undefined) => {
    const start = performance.now()
    for (let count = 0; performance.now() - start < ms; count += 1) {
      onRead(await read(paths[count % paths.length] ?? ''))
      await sleep(Math.max(0, (count + 1) * READ_INTERVAL_MS - (performance.now() - start)))
    }
  }
  /** Adds the printed settings to the configuration. */
  const change = async (yaml: string) => {
    const present = parse(await readFile(join(edge.folder, 'edge.yaml'), 'utf8'))
    await put(stringify(merge(present, parse(yaml))))
  }
  return { simulator, edge, advise, readFor, change }
}

t.test('the calls after a change of a lifetime are those that the advice expects', async (t) => {
  const ttl = { rules: '500ms' }
  const { simulator, advise, readFor, change } = await edgeWith(t, { ttl })
  const paths = Array.from({ length: 4 }, (_, at) => `/rules?limit=1&offset=${at}`)
  const calls = async () => {
    const before = simulator.seen.length
    await readFor(9000, paths)
    return simulator.seen.slice(before).filter(({ url }) => url.startsWith('/rules')).length
  }
  const before = await calls()
  const query = '?set=cache.ttl.rules=2s'
  const { lifetimes, whatIf, replicas, share } = await advise(query)
  t.match({ replicas, share }, { replicas: 1, share: 1 })
  const [rules] = lifetimes
  t.match(rules, { setting: 'cache.ttl.rules', ttl: 500, fetches: before, endpoints: [{ endpoint: '/rules' }] })
  const { fetches = 0, observedFetches = 0 } = rules?.model ?? {}
  t.equal(observedFetches, before, 'each call of the node is a fetch')
  t.ok(Math.abs(fetches - before) <= 0.1 * before, `the model gives ${fetches} calls, there were ${before}`)
  t.match(rules?.text, /^rules 500 ms → 1 s saves \d+ % of the calls; .* is not known yet: 0 comparisons of 30\.$/)
  t.equal(whatIf?.settings, 'cache:\n  ttl:\n    rules: 2s # now 500ms\n')
  t.match(whatIf?.texts, [/^cache\.ttl\.rules 500ms → 2s saves \d+ % of the calls;/])

  await change(whatIf?.settings ?? '')
  const expected = whatIf?.fetches.tried ?? 0
  const after = await calls()
  t.comment(`calls: ${before}, expected ${expected}, really ${after}`)
  t.ok(expected < before / 2, 'the change is large')
  t.ok(Math.abs(after - expected) <= 0.25 * expected, `expected ${expected} calls, there were ${after}`)
  t.match((await advise()).lifetimes[0], { ttl: 2000 }, 'the advice begins again with the new lifetime')
})

t.test(
  'of data that changes at a known rate, the reads that would differ are estimated from comparisons',
  async (t) => {
    const { simulator, advise, readFor, change } = await edgeWith(t, {
      ttl: { agents: '400ms' },
      divergenceCheck: { sampleRatio: 1, maxPerSecond: 1000 },
    })
    let created = 0
    const create = async () => {
      await fetch(`${simulator.nodes[0]?.url}/agents/groups/known-${created}`, {
        method: 'PUT',
        headers: { authorization: AUTHORIZATION },
      })
      created += 1
    }
    const timer = setInterval(create, 800)
    t.teardown(() => clearInterval(timer))
    const counted = { reads: 0, different: 0 }
    const compare = (body: string) => {
      counted.reads += 1
      if (JSON.parse(body).data.totalItems < created) counted.different += 1
    }
    const path = '/agents/groups?search=known-'
    await readFor(12_000, [path])
    const { lifetimes, settings } = await advise()
    const agents = lifetimes.find(({ setting }) => setting === 'cache.ttl.agents')
    const candidate = agents?.candidates.find(({ ttl }) => ttl === 1200)
    t.ok((agents?.comparisons.compared ?? 0) >= 30)
    const { share = 0, atMost = 0 } = candidate?.differing ?? {}
    t.match(candidate, { isRecommended: false }, 'the data changes too often')
    t.equal(settings, '')

    await change('{ cache: { ttl: { agents: 1200ms }, divergenceCheck: { sampleRatio: 0 } } }')
    await readFor(12_000, [path], compare)
    const really = counted.different / counted.reads
    t.comment(`differing: estimated ${share}, at most ${atMost}, really ${really}`)
    t.ok(really > 0.1 && really <= atMost, `${really} of the reads differed, at most ${atMost} were expected`)
    t.ok(share <= 2 * really, 'and the estimate is not far away')
  },
)

t.test('settings that cannot be tried are refused with what can be', async (t) => {
  const { edge } = await edgeWith(t, {})
  const get = async (query: string, user = 'admin') => {
    const response = await fetch(`${edge.operationsUrl}/api/advice${query}`, {
      headers: { authorization: edge.authorization(user) },
    })
    return { status: response.status, text: await response.text() }
  }
  t.match(await get('?set=cache.enabled=false'), { status: 400, text: /set must be cache\.ttl\.GROUP/ })
  t.match(await get('?set=cache.ttl.rules=2h'), { status: 400, text: /cache\.ttl\.rules must be a duration/ })
  t.match(await get('?set=cache.endpoints./unknown=2s'), { status: 400, text: /set must be/ })
  t.match(await get('?differing=101'), { status: 400 })
  t.match(await get('?unknown=1'), { status: 400 })
  t.match(await get('', 'reader'), { status: 403 })
  const tried = ['cache.endpoints./agents/:agent_id=30s', 'cache.localBytes=1MiB', 'access.limits.requestsPerSecond=5']
  const { status, text } = await get(`?${tried.map((setting) => `set=${encodeURIComponent(setting)}`).join('&')}`)
  t.equal(status, 200)
  const settings = parse((JSON.parse(text) as Advice).whatIf?.settings ?? '')
  t.match(settings, {
    cache: { endpoints: { '/version': '10s', '/agents/:agent_id': '30s' }, localBytes: '1MiB' },
    access: { limits: { requestsPerSecond: 5 } },
  })
  const { text: scientific } = await get('?set=access.limits.requestsPerSecond=1e3')
  const { whatIf } = JSON.parse(scientific) as Advice
  t.match(whatIf?.changes, [{ setting: 'access.limits.requestsPerSecond', to: '1000' }])
  t.match(whatIf?.settings, /requestsPerSecond: 1000 #/, 'as the configuration takes it')
})
