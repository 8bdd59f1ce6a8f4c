/**
 * Compares each response of two replicas with what the simulated node itself gives that user: random policies × all reads,
 * in both modes, in random order and twice, so that most responses come from the cache.
 */
import { isDeepStrictEqual } from 'node:util'
import { Agent } from 'undici'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { parseJson } from '../../../../src/core/values.ts'
import { createRandom, type Random } from '../../../faults/coherence/random.ts'
import { type RunningEdge, type Settings, startEdge } from '../../../support/edge.ts'
import { startRedis } from '../../../support/redis.ts'
import { type RandomUser, randomPolicies, randomUsers } from './policies.ts'
import { readsOfV4Contract } from './reads.ts'

export interface MatrixOptions {
  readonly seed: number
  readonly policies: number
  /** Reads that each user sends in each mode; absent: all. */
  readonly readsPerUser?: number
  /** Starts a replica; another one has a planted fault. */
  readonly start?: typeof startEdge
}

export interface MatrixResult {
  readonly users: number
  readonly reads: number
  /** Responses compared, and how many of them came from the cache. */
  readonly compared: number
  readonly hits: number
  /** Responses of the node by status. */
  readonly statuses: Readonly<Record<number, number>>
  /** Users whose lists were cut in different ways: pairs of one URL with different responses 200. */
  readonly distinct: number
  readonly differences: readonly string[]
}

const PASSWORD = 'Random-Password-1'
const IN_FLIGHT = 16
/** Longer than any run: the clock of the cluster is stopped, so its tokens end by the clock of the edge only. */
const TOKEN_LIFETIME_SECONDS = 86_400
const MODES = ['white', 'black'] as const

const settings: Settings = {
  listen: { contract: 'v4' },
  cluster: {
    layout: 'v4',
    discover: false,
    credentials: { mode: 'passthrough', username: null, password: null },
    limits: { perMinute: 0 },
  },
  // What does not expire cannot hide a difference.
  cache: { defaultTtl: '1h' },
  access: {
    users: null,
    roles: null,
    customRoles: { everything: ['*'] },
    passthroughRole: 'everything',
    tokens: { recheck: '600s' },
    limits: { requestsPerSecond: 100_000, hitsPerSecond: 100_000 },
  },
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly isHit: boolean
}

export async function runMatrix({
  seed,
  policies,
  readsPerUser,
  start = startEdge,
}: MatrixOptions): Promise<MatrixResult> {
  const random = createRandom(seed)
  // The clock of the cluster is stopped, so that no response depends on the time.
  const now = new Date()
  const simulator = await startSimulator({
    layout: 'v4',
    workers: 1,
    agents: 6,
    now: () => now,
    remember: false,
  })
  const redis = await startRedis()
  const edges: RunningEdge[] = []
  const agent = new Agent({ connections: IN_FLIGHT })
  try {
    const shared = { ...settings, cache: { ...(settings.cache as object), redis: { url: redis.url } } }
    for (let replica = 0; replica < 2; replica += 1)
      edges.push(await start({ nodes: simulator.nodes, settings: shared }))
    const master = simulator.nodes[0]?.url ?? ''
    const ask = async (url: string, authorization: string): Promise<Answer> => {
      const response = await agent.request({
        origin: new URL(url).origin,
        path: url.slice(new URL(url).origin.length),
        method: 'GET',
        headers: { authorization },
      })
      const text = await response.body.text()
      const isHit = /; hit/.test(String(response.headers['cache-status'] ?? ''))
      return { status: response.statusCode, body: parseJson(text) ?? text, isHit }
    }
    const administrator = createAdministrator(master)
    const users = randomUsers(policies, random)
    await createUsers(administrator, randomPolicies(policies, random), users)
    const all = readsOfV4Contract()
    const result = { compared: 0, hits: 0, statuses: {} as Record<number, number>, differences: [] as string[] }
    const bodies = new Map<string, unknown[]>()
    for (const mode of MODES) {
      await administrator('PUT', '/security/config', {
        rbac_mode: mode,
        auth_token_exp_timeout: TOKEN_LIFETIME_SECONDS,
      })
      const tokens = new Map<string, string>()
      for (const { name } of users) tokens.set(name, await logIn(master, name, PASSWORD))
      const expected = new Map<string, Answer>()
      const pairs = pairsOf(users, shuffled(all, random), readsPerUser)
      await inParallel(pairs, async ({ name, path }) => {
        // The node has a cache that ignores users. With its own empty parameter, each call is another one.
        const own = `${path}${path.includes('?') ? '&' : '?'}of${name}${mode}=`
        const answer = await ask(`${master}${own}`, tokens.get(name) ?? '')
        expected.set(`${name} ${path}`, answer)
        result.statuses[answer.status] = (result.statuses[answer.status] ?? 0) + 1
        if (answer.status !== 200) return
        const known = bodies.get(path) ?? []
        if (!known.some((body) => isDeepStrictEqual(body, answer.body))) bodies.set(path, [...known, answer.body])
      })
      await inParallel(shuffled([...pairs, ...pairs], random), async ({ name, path }) => {
        const replica = edges[random.below(2)]
        const own = await ask(`${replica?.url}${path}`, tokens.get(name) ?? '')
        const node = expected.get(`${name} ${path}`)
        result.compared += 1
        if (own.isHit) result.hits += 1
        if (node !== undefined && (own.status !== node.status || !isDeepStrictEqual(own.body, node.body)))
          result.differences.push(`${mode} ${name} GET ${path}: ${shown(own)} instead of ${shown(node)}`)
      })
    }
    if (simulator.thrown.length > 0) result.differences.push(`defects of the simulator: ${simulator.thrown}`)
    const distinct = [...bodies.values()].reduce((sum, different) => sum + different.length - 1, 0)
    return { ...result, users: users.length, reads: all.length, distinct }
  } finally {
    await agent.close()
    await Promise.all(edges.map((edge) => edge.close()))
    await Promise.all([redis.close(), simulator.close()])
  }
}

type Administrator = (method: string, path: string, body?: object) => Promise<number>

/** Returns a function that sends writes to the master, and returns the id of the object that was created. */
function createAdministrator(master: string): Administrator {
  let token: string | undefined
  return async (method, path, body) => {
    token ??= await logIn(master, 'edge', 'simulated')
    const response = await fetch(`${master}${path}`, {
      method,
      headers: { authorization: token, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    // A change of the mode ends all tokens.
    if (path === '/security/config') token = undefined
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    const items = (JSON.parse(text) as { data?: { affected_items?: { id: number }[] } }).data?.affected_items
    return items?.[0]?.id ?? 0
  }
}

async function createUsers(
  administrator: Administrator,
  policies: ReturnType<typeof randomPolicies>,
  users: readonly RandomUser[],
): Promise<void> {
  const roles: number[] = []
  for (const [nth, policy] of policies.entries()) {
    const id = await administrator('POST', '/security/policies', { name: `policy-${nth}`, policy })
    const role = await administrator('POST', '/security/roles', { name: `role-${nth}` })
    await administrator('POST', `/security/roles/${role}/policies?policy_ids=${id}`)
    roles.push(role)
  }
  for (const { name, policies: own } of users) {
    const id = await administrator('POST', '/security/users', { username: name, password: PASSWORD })
    await administrator('POST', `/security/users/${id}/roles?role_ids=${own.map((nth) => roles[nth]).join(',')}`)
  }
}

async function logIn(master: string, name: string, password: string): Promise<string> {
  const authorization = `Basic ${btoa(`${name}:${password}`)}`
  const response = await fetch(`${master}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization },
  })
  return `Bearer ${await response.text()}`
}

function shown({ status, body, isHit }: Answer): string {
  return `${status}${isHit ? ' (hit)' : ''} ${JSON.stringify(body).slice(0, 200)}`
}

interface Pair {
  readonly name: string
  readonly path: string
}

/** Users with the same first policy get the same part of the reads, and the parts cover all reads. */
function pairsOf(users: readonly RandomUser[], reads: readonly string[], each = reads.length): readonly Pair[] {
  return users.flatMap(({ name, part }) =>
    Array.from({ length: each }, (_, nth) => ({ name, path: reads[(part * each + nth) % reads.length] ?? '' })),
  )
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  const result = [...values]
  for (let at = result.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1)
    const value = result[at] as T
    result[at] = result[other] as T
    result[other] = value
  }
  return result
}

async function inParallel<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const left = values[Symbol.iterator]()
  const worker = async () => {
    for (const value of left) await work(value)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}
