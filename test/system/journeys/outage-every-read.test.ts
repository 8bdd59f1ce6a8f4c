/**
 * Outage mode, for each read of each contract: what one replica has fetched, both replicas serve while no node answers, marked.
 * Behind each layout, in each mode of distribution and of credentials.
 */
import t, { type Test } from 'tap'
import { type NewerUser, startSimulator } from '../../../packages/simulator/src/index.ts'
import { exampleOf } from '../../../src/admin/openapi/example.ts'
import type { Endpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { newerContract } from '../../../src/catalogue/newer-contract/index.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { merge, type RunningEdge, type Settings, SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'
const SILENCE = { minWait: 200, maxWait: 400, probeTimeout: 200, probes: 2, pause: 100 }
const USERS = { ann: { password: 'ann-pw', roles: ['administrator'] } } satisfies Record<string, NewerUser>

interface Rig {
  readonly name: string
  readonly layout: 'classic' | 'newer'
  readonly isDistributed: boolean
  readonly settings: Settings
  readonly passthrough?: true
}

const passthrough = {
  cluster: { credentials: { mode: 'passthrough', username: null, password: null } },
  access: { users: null, roles: null },
}

const rigs: readonly Rig[] = [
  { name: 'classic nodes that distribute', layout: 'classic', isDistributed: true, settings: {} },
  {
    name: 'classic nodes, the edge distributes',
    layout: 'classic',
    isDistributed: false,
    settings: { cluster: { distribution: 'edge' } },
  },
  {
    name: 'classic nodes, users of the manager',
    layout: 'classic',
    isDistributed: true,
    settings: merge(passthrough, { access: { roles: { edge: ['administrator'] } } }),
    passthrough: true,
  },
  {
    name: 'newer nodes, both contracts',
    layout: 'newer',
    isDistributed: true,
    settings: { cluster: { layout: 'newer' }, listen: { secondPort: 0 } },
  },
  {
    name: 'newer nodes, both contracts, users of the manager',
    layout: 'newer',
    isDistributed: true,
    settings: merge(passthrough, {
      cluster: { layout: 'newer' },
      listen: { secondPort: 0 },
      access: { roles: { ann: ['administrator'] } },
    }),
    passthrough: true,
  },
]

/** Pages, filters and sorts that no client requests before the outage; collections have ties in some of their fields. */
const NEVER_REQUESTED = {
  classic: ['/agents?limit=3&offset=1', '/agents?sort=status&limit=4', '/agents?q=id>2', '/rules?limit=2&offset=7'],
  newer: ['/agents?limit=3&offset=1', '/agents?sort=status&limit=4', '/agents?q=id>2', '/rules?limit=2&offset=7'],
} as const

/** Clients act at once on a verdict: it is never served stale. */
const VALIDATION = /configuration\/validation/

const limited = (path: string, limit: number) => path.replace(/([?&]limit=)\d+/, `$1${limit}`)

const readsOf = (records: readonly Endpoint[]) => records.filter(({ method }) => method === 'GET')

interface Asked {
  readonly contract: 'classic' | 'newer'
  readonly path: string
}

const TTL_MS = 600
const LOGIN = { contract: 'classic', path: '/security/user/authenticate' } as const

interface Reply {
  readonly status: number
  readonly cache: string
  readonly text: string
  readonly hasAge: boolean
}

const isFresh = ({ status, cache, text }: Reply) =>
  status === 200 && !cache.includes('detail=outage') && /"error":\s*0|^\{"data"/.test(text)

async function start(t: Test, { layout, isDistributed, settings, passthrough }: Rig) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const simulator = await startSimulator({
    layout,
    agents: 6,
    workers: 1,
    password: PASSWORD,
    username: 'edge',
    ...(layout === 'newer' && passthrough && { newer: { users: USERS } }),
    distributed: isDistributed,
  })
  t.teardown(() => simulator.close())
  const proxies = await Promise.all(simulator.nodes.map(({ url }) => startFaultProxy(Number(new URL(url).port))))
  t.teardown(() => Promise.all(proxies.map((proxy) => proxy.close())))
  const nodes = simulator.nodes.map((node, at) => ({ ...node, url: `http://127.0.0.1:${proxies[at]?.port}` }))
  const base: Settings = {
    cluster: { discover: false, limits: { perMinute: 0 } },
    cache: {
      redis: { url: redis.url },
      ttl: Object.fromEntries(cacheGroups.map((group) => [group, '500ms'])),
      endpoints: { '/manager/info': '500ms' },
      staleWhileRevalidate: Object.fromEntries(cacheGroups.map((group) => [group, '60s'])),
      staleIfError: '0s',
      outage: '1h',
    },
    access: { limits: { requestsPerSecond: 100_000 } },
  }
  const open = async () => {
    const edge = await startEdge({
      nodes,
      password: PASSWORD,
      times: { cluster: { ejection: { silence: SILENCE }, contactTimes: SHORT_CONTACTS } },
      settings: merge(base, settings),
    })
    t.teardown(() => edge.close())
    return edge
  }
  const edges = [await open(), await open()]
  // Of both replicas: they share their keys, and a token of the manager that was accepted.
  const [first] = edges as [RunningEdge, RunningEdge]
  const account = layout === 'newer' ? 'ann:ann-pw' : `edge:${PASSWORD}`
  const basic = passthrough ? `Basic ${btoa(account)}` : first.authorization('admin')
  const login = async (): Promise<string> => {
    const url = `${first.secondUrl}/security/user/authenticate?raw=true`
    return (await fetch(url, { method: 'POST', headers: { authorization: basic } })).text()
  }
  const token = layout === 'newer' ? `Bearer ${await login()}` : basic
  const ask = async (at: number, { contract, path }: Asked, method = 'GET'): Promise<Reply> => {
    const url = contract === 'newer' ? edges[at]?.secondUrl : edges[at]?.url
    const authorization = contract === 'newer' ? token : basic
    const response = await fetch(`${url}${path}`, { method, headers: { authorization } })
    const text = await response.text()
    const { status, headers } = response
    return { status, cache: `${headers.get('cache-status')}`, text, hasAge: headers.has('age') }
  }
  const setAll = (kind: 'refuse' | 'pass') => Promise.all(proxies.map((proxy) => proxy.set({ kind })))
  return { ask, setAll, simulator }
}

for (const rig of rigs) {
  t.test(rig.name, async (t) => {
    const { ask, setAll, simulator } = await start(t, rig)
    const contracts = rig.layout === 'newer' ? (['classic', 'newer'] as const) : (['classic'] as const)
    const all = contracts.flatMap((contract) =>
      readsOf(contract === 'classic' ? catalogue : newerContract).map((endpoint): Asked => {
        return { contract, path: exampleOf(endpoint).url }
      }),
    )
    const stored: Asked[] = []
    for (const asked of all) {
      await ask(0, asked)
      const { status, cache } = await ask(0, asked)
      if (status === 200 && /; (?:hit|stored)/.test(cache) && !VALIDATION.test(asked.path)) stored.push(asked)
    }
    t.ok(stored.length > 60 * contracts.length, `${stored.length} of ${all.length} reads are stored`)
    const collections = stored.filter(({ path }) => path.includes('limit='))
    for (const { contract, path } of collections)
      for (const limit of [1, 2, 3]) await ask(0, { contract, path: limited(path, limit) })
    let queries = 0
    for (const contract of contracts) {
      for (const path of ['/agents', '/rules']) {
        await eventually(async () => {
          queries += 1
          const { cache } = await ask(0, { contract, path: `${path}?limit=${queries}&sort=-id` })
          return cache.includes('snapshot')
        })
      }
    }
    // A name and a password of the manager are good for reads at a replica where they were accepted, a token at each.
    await ask(1, { contract: 'classic', path: '/agents' })
    const describe = ({ status, cache, text }: Reply) => `${status} ${cache} ${text.slice(0, 150)}`
    const unseen = contracts.flatMap((contract) => NEVER_REQUESTED[contract].map((path): Asked => ({ contract, path })))
    await setAll('refuse')
    await new Promise((resolve) => setTimeout(resolve, TTL_MS))
    for (const at of [0, 1]) {
      await eventually(async () => (await ask(at, stored[0] as Asked)).cache.includes('outage'))
      for (const asked of [...stored, ...unseen]) {
        const reply = await ask(at, asked)
        const isMarked = reply.status === 200 && reply.cache.includes('detail=outage') && reply.hasAge
        t.ok(isMarked, `replica ${at}: ${asked.contract} ${asked.path}: ${describe(reply)}`)
      }
      // A page that no client has requested comes from a snapshot, or is joined from stored parts of nodes; or there is an error.
      const pages = { marked: 0, failed: 0 }
      for (const { contract, path } of collections) {
        const reply = await ask(at, { contract, path: `${limited(path, 2)}&offset=1` })
        const isMarked = reply.cache.includes('detail=outage') && reply.hasAge
        pages[isMarked ? 'marked' : 'failed'] += 1
        t.ok(isMarked || reply.status >= 500, `replica ${at}: page of ${contract} ${path}: ${describe(reply)}`)
      }
      t.ok(pages.marked > 2 * pages.failed, `pages that no client has requested: ${JSON.stringify(pages)}`)
      if (rig.passthrough === undefined) t.equal((await ask(at, LOGIN, 'GET')).status, 200, 'users of the edge log in')
      for (const contract of contracts) {
        const began = performance.now()
        const reply = await ask(at, { contract, path: '/agents/001/restart' }, 'PUT')
        t.ok(
          reply.status === 503 && performance.now() - began < 1000,
          `${contract}: a write fails at once: ${describe(reply)}`,
        )
      }
    }
    await setAll('pass')
    await eventually(async () => (await Promise.all(stored.map((asked) => ask(0, asked)))).every(isFresh))

    await simulator.faults.set('master', { nodeDown: true })
    await new Promise((resolve) => setTimeout(resolve, TTL_MS))
    const served = { fresh: 0, outage: 0 }
    for (const at of [0, 1]) {
      for (const asked of [...stored, ...unseen]) {
        const reply = await ask(at, asked)
        const isOld = reply.cache.includes('detail=outage')
        served[isOld ? 'outage' : 'fresh'] += 1
        t.ok(
          reply.status === 200 && (isOld || isFresh(reply)),
          `without the master, replica ${at}: ${asked.contract} ${asked.path}: ${describe(reply)}`,
        )
      }
    }
    t.comment(`without the master: ${JSON.stringify(served)}`)
  })
}
