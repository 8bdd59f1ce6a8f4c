/** Every read of each contract through the edge, behind each layout, in each mode of distribution and of credentials. */
import type { Test } from 'tap'
import { exampleOf } from '../../../packages/reference/src/example.ts'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { merge, type RunningEdge, type Settings, SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'

const PASSWORD = 'only-for-tests'
const SILENCE = { minWait: 200, maxWait: 400, probeTimeout: 200, probes: 2, pause: 100 }
const USERS = { ann: { password: 'ann-pw', roles: ['administrator'] } } satisfies Record<string, V4User>

export interface Rig {
  readonly name: string
  readonly layout: 'v3' | 'v4'
  readonly isDistributed: boolean
  readonly settings: Settings
  readonly passthrough?: true
}

const passthrough = {
  cluster: { credentials: { mode: 'passthrough', username: null, password: null } },
  access: { users: null, roles: null },
}

export const rigs: readonly Rig[] = [
  { name: 'v3 nodes that distribute', layout: 'v3', isDistributed: true, settings: {} },
  {
    name: 'v3 nodes, the edge distributes',
    layout: 'v3',
    isDistributed: false,
    settings: { cluster: { distribution: 'edge' } },
  },
  {
    name: 'v3 nodes, users of the manager',
    layout: 'v3',
    isDistributed: true,
    settings: merge(passthrough, { access: { roles: { edge: ['administrator'] } } }),
    passthrough: true,
  },
  {
    name: 'v4 nodes, both contracts',
    layout: 'v4',
    isDistributed: true,
    settings: { cluster: { layout: 'v4' }, listen: { secondPort: 0 } },
  },
  {
    name: 'v4 nodes, both contracts, users of the manager',
    layout: 'v4',
    isDistributed: true,
    settings: merge(passthrough, {
      cluster: { layout: 'v4' },
      listen: { secondPort: 0 },
      access: { roles: { ann: ['administrator'] } },
    }),
    passthrough: true,
  },
]

export interface Asked {
  readonly contract: 'v3' | 'v4'
  readonly path: string
}

export interface Stored extends Asked {
  /** What a second page can be computed from, if there is more than one row. Absent: from nothing. */
  readonly pagesFrom?: 'snapshot' | 'partsOfNodes'
  /** Whether it has all rows of its collection, and a second page, so that in an outage others are computed from it. */
  readonly isWhole: boolean
}

export const LOGIN = { contract: 'v3', path: '/security/user/authenticate' } as const

export interface Reply {
  readonly status: number
  readonly cache: string
  readonly text: string
  readonly hasAge: boolean
}

export const describe = ({ status, cache, text }: Reply) => `${status} ${cache} ${text.slice(0, 150)}`

function pagesFrom(endpoint: Endpoint, text: string): Pick<Stored, 'pagesFrom'> {
  const policy = compilePolicy(endpoint)
  // The text around a page without rows is that of a node.
  const total = Number(/"(?:totalItems|total_affected_items)":\s*(\d+)/.exec(text)?.[1])
  if (typeof policy === 'string' || !(total > 1)) return {}
  if (policy.snapshot !== undefined) return { pagesFrom: 'snapshot' }
  return endpoint.target.kind === 'severalNodes' ? { pagesFrom: 'partsOfNodes' } : {}
}

function isWhole(endpoint: Endpoint, text: string): boolean {
  const policy = compilePolicy(endpoint)
  if (typeof policy === 'string' || policy.rows === undefined) return false
  const data = Object((JSON.parse(text) as { readonly data?: unknown }).data)
  const { items, totalItems, affected_items: rows = items, total_affected_items: total = totalItems } = data
  if (!Array.isArray(rows) || rows.length !== total) return false
  return total > 1
}

/** Clients act at once on a verdict: it is never served stale. */
const VALIDATION = /configuration\/validation/

export const limited = (path: string, limit: number) => path.replace(/([?&]limit=)\d+/, `$1${limit}`)

export const isStored = (cache: string) => /; (?:hit|stored)/.test(cache)

const readsOf = (records: readonly Endpoint[]) => records.filter(({ method }) => method === 'GET')

export const contractsOf = ({ layout }: Rig) => (layout === 'v4' ? (['v3', 'v4'] as const) : (['v3'] as const))

/** Returns the settings of the cache by which each response has this lifetime. */
export const cacheFor = (ttl: string, redisUrl: string): Settings => ({
  redis: { url: redisUrl },
  ttl: Object.fromEntries(cacheGroups.map((group) => [group, ttl])),
  endpoints: { '/manager/info': ttl },
  staleIfError: '0s',
  outage: '1h',
})

/** Starts a replica for each of the settings of a cache. All have the same nodes, each behind a proxy. */
export async function start(t: Test, rig: Rig, caches: readonly Settings[]) {
  const { layout, isDistributed, settings, passthrough } = rig
  const simulator = await startSimulator({
    layout,
    agents: 6,
    workers: 1,
    password: PASSWORD,
    username: 'edge',
    ...(layout === 'v4' && passthrough && { v4: { users: USERS } }),
    distributed: isDistributed,
  })
  t.teardown(() => simulator.close())
  const proxies = await Promise.all(simulator.nodes.map(({ url }) => startFaultProxy(Number(new URL(url).port))))
  t.teardown(() => Promise.all(proxies.map((proxy) => proxy.close())))
  const nodes = simulator.nodes.map((node, at) => ({ ...node, url: `http://127.0.0.1:${proxies[at]?.port}` }))
  const base: Settings = {
    cluster: { discover: false, limits: { perMinute: 0 } },
    access: { limits: { requestsPerSecond: 100_000 } },
  }
  const open = async (cache: Settings) => {
    const edge = await startEdge({
      nodes,
      password: PASSWORD,
      times: { cluster: { ejection: { silence: SILENCE }, contactTimes: SHORT_CONTACTS } },
      settings: merge(merge(base, { cache }), settings),
    })
    t.teardown(() => edge.close())
    return edge
  }
  const edges: RunningEdge[] = []
  for (const cache of caches) edges.push(await open(cache))
  // Of all replicas: they share their keys, and a token of the manager that was accepted.
  const [first] = edges as [RunningEdge]
  const account = layout === 'v4' ? 'ann:ann-pw' : `edge:${PASSWORD}`
  const basic = passthrough ? `Basic ${btoa(account)}` : first.authorization('admin')
  const login = async (): Promise<string> => {
    const url = `${first.secondUrl}/security/user/authenticate?raw=true`
    return (await fetch(url, { method: 'POST', headers: { authorization: basic } })).text()
  }
  const token = layout === 'v4' ? `Bearer ${await login()}` : basic
  const ask = async (at: number, { contract, path }: Asked, method = 'GET'): Promise<Reply> => {
    const url = contract === 'v4' ? edges[at]?.secondUrl : edges[at]?.url
    const authorization = contract === 'v4' ? token : basic
    const response = await fetch(`${url}${path}`, { method, headers: { authorization } })
    const text = await response.text()
    const { status, headers } = response
    return { status, cache: `${headers.get('cache-status')}`, text, hasAge: headers.has('age') }
  }
  const setAll = (kind: 'refuse' | 'pass') => Promise.all(proxies.map((proxy) => proxy.set({ kind })))
  /** Requests pages of a collection until each is stored, and others until they come from the snapshot of the rows. */
  const storePages = async (at: number, { contract, path, pagesFrom }: Stored): Promise<void> => {
    const cacheOf = async (limit: number) => (await ask(at, { contract, path: limited(path, limit) })).cache
    for (const limit of [1, 2, 3]) await eventually(async () => isStored(await cacheOf(limit)))
    if (pagesFrom !== 'snapshot') return
    // Hits demand no snapshot: reads of the v3 contract may have stored the first pages of the v4 contract too.
    let limit = 3
    await eventually(async () => {
      limit += 1
      return (await cacheOf(limit)).includes('snapshot')
    })
  }
  /** Sends each read twice, and returns those that are stored. */
  const store = async (t: Test, at: number): Promise<readonly Stored[]> => {
    const contracts = contractsOf(rig)
    const all = contracts.flatMap((contract) =>
      readsOf(contract === 'v3' ? catalogue : v4Contract).map((endpoint) => ({
        endpoint,
        contract,
        path: exampleOf(endpoint).url,
      })),
    )
    const stored: Stored[] = []
    for (const { endpoint, ...asked } of all) {
      await ask(at, asked)
      const { status, cache, text } = await ask(at, asked)
      if (status !== 200 || !isStored(cache) || VALIDATION.test(asked.path)) continue
      stored.push({ ...asked, ...pagesFrom(endpoint, text), isWhole: isWhole(endpoint, text) })
    }
    t.ok(stored.length > 60 * contracts.length, `${stored.length} of ${all.length} reads are stored`)
    return stored
  }
  return { ask, setAll, store, storePages, simulator }
}
