/** Two replicas for users of the manager, in front of a simulated cluster that cuts responses to the rights of a user. */
import type { Test } from 'tap'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { merge, type Settings, startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

export const only001 = [{ actions: ['agent:read', 'syscollector:read'], resources: ['agent:id:001'] }] as const
export const users = {
  ann: { password: 'ann-pw', roles: ['administrator'], runAs: true },
  amy: { password: 'amy-pw', roles: ['administrator'] },
  bob: { password: 'bob-pw', roles: only001 },
  eve: { password: 'eve-pw', roles: ['readonly'] },
  nil: { password: 'nil-pw' },
} as const satisfies Readonly<Record<string, V4User>>

export type User = keyof typeof users

const settings: Settings = {
  listen: { contract: 'v4' },
  cluster: { layout: 'v4', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
  access: { users: null, roles: null },
}

export interface Body {
  readonly data?: { readonly token?: string; readonly total_affected_items?: number }
  readonly title?: string
  readonly detail?: string
}

interface TwoReplicasOptions {
  /** Settings over those of the test. */
  readonly more?: Settings
  /** Seconds. */
  readonly tokenLifetime?: number
  /** Milliseconds for which the two processes of a node remember an accepted token. */
  readonly tokenCacheMs?: number
  /** Requests that each node takes in a minute. */
  readonly requestsPerMinute?: number
}

interface WriteOptions {
  readonly body?: object
  readonly pastEdge?: boolean
}

/** Milliseconds. The clock of the manager is late, so that it can be set forward without tokens of the future. */
const LATE_MS = 60_000
const SECOND_MS = 1_000

/** Starts two replicas, and returns functions that send requests of users to one of them. */
export async function twoReplicas(
  t: Test,
  { more = {}, tokenLifetime = 900, requestsPerMinute = 0, tokenCacheMs = 0 }: TwoReplicasOptions = {},
) {
  let late = LATE_MS
  const simulator = await startSimulator({
    layout: 'v4',
    workers: 1,
    agents: 6,
    now: () => new Date(Date.now() - late),
    v4: { users, tokenLifetime, requestsPerMinute, tokenCacheMs },
  })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const shared = merge({ ...settings, cache: { redis: { url: redis.url } } }, more)
  const edges = [
    await startEdge({ nodes: simulator.nodes, settings: shared }),
    await startEdge({ nodes: simulator.nodes, settings: shared }),
  ]
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  const send = async (at: number, path: string, authorization: string | undefined, method = 'GET') => {
    const headers = authorization === undefined ? {} : { authorization }
    const response = await fetch(`${edges[at]?.url}${path}`, { method, headers })
    const body = (await response.json()) as Body
    const { headers: sent } = response
    return { status: response.status, cache: sent.get('cache-status') ?? '', headers: sent, body }
  }
  const logIn = async (user: User, at = 0) => {
    const basic = `Basic ${btoa(`${user}:${users[user].password}`)}`
    const { status, body } = await send(at, '/security/user/authenticate', basic, 'POST')
    t.equal(status, 200, `login of ${user}: ${JSON.stringify(body)}`)
    return `Bearer ${body.data?.token}`
  }
  /** Sends a request with a body to the first replica, or past the edge to the master. */
  const write = async (
    method: string,
    path: string,
    authorization: string,
    { body, pastEdge = false }: WriteOptions = {},
  ) => {
    const url = pastEdge ? simulator.nodes[0]?.url : edges[0]?.url
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Body }
  }
  /** Sets the clock of the manager a second forward: a token that is issued in the second of a change stays good there. */
  const nextSecond = () => {
    late -= SECOND_MS
  }
  /** Returns the checks of tokens that the cluster has received, without the probe that asks for its release. */
  const checks = () =>
    simulator.seen.filter(
      ({ url, headers }) => url === '/' && headers.authorization !== undefined && headers['x-request-id'] !== 'layout',
    ).length
  return { simulator, redis, edges, send, logIn, write, checks, nextSecond }
}
