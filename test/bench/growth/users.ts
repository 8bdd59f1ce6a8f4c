/** CPU time per hit as the users of the users file grow, when all of them send requests: Basic and Bearer. */
import { Pool } from 'undici'
import { startRedis } from '../../support/redis.ts'
import { WrongResponseError } from '../verify.ts'
import { basicOf, type GrowthEdge, startEdge } from './edge.ts'
import type { Plan } from './measurements.ts'
import { ANY, type Client, startClient } from './orders.ts'
import { type HitRow, measureSeries } from './rows.ts'

const IN_FLIGHT = 16
const ENTRIES = 10
/**
 * Requests of one user have the headers of the request before on their connection, which are not checked again. Those of many
 * users on the same connections differ. (If no verified token were remembered, 10,000 users would cost eight times as much as one.)
 */
const MAX_FACTOR = 5
/** Logins at the same time. */
const LANES = 8

interface Crowd {
  readonly users: number
  readonly edge: GrowthEdge
  readonly client: Client
  readonly tokens: readonly string[]
}

export async function measureUsers({ folder, origin, quick, duration, say }: Plan): Promise<boolean> {
  const sizes = quick ? [1, 100, 1_000] : [1, 1_000, 10_000]
  const redis = await startRedis()
  const crowds: Crowd[] = []
  try {
    for (const users of sizes) {
      const edge = await startEdge({ folder, origin, redis: redis.url, users })
      const tokens = await tokensOf(edge, users)
      const client = await startClient({ port: edge.port, connections: IN_FLIGHT, authorization: basicOf(0) })
      crowds.push({ users, edge, client, tokens })
    }
    // First: a password is verified again a minute after its verification, here by the login.
    const basic = await measureScheme('Basic', crowds, ({ users }) =>
      Array.from({ length: users }, (_, at) => basicOf(at)),
    )
    return (await measureScheme('Bearer', crowds, ({ tokens }) => tokens)) && basic
  } finally {
    for (const { client, edge } of crowds) {
      await client.close()
      await edge.stop()
    }
    await redis.close()
  }

  async function measureScheme(
    scheme: string,
    crowds: readonly Crowd[],
    authorizationsOf: (crowd: Crowd) => readonly string[],
  ): Promise<boolean> {
    const rows: HitRow[] = []
    for (const crowd of crowds) {
      const order = { inFlight: IN_FLIGHT, entries: ENTRIES, authorizations: authorizationsOf(crowd) }
      // Each user twice: from the second request on, the credentials are known.
      const requests = 2 * Math.max(crowd.users, 100)
      await crowd.client.run({ ...order, inTurn: true, requests, cacheStatus: ANY })
      rows.push({ x: crowd.users, edge: crowd.edge, client: crowd.client, order })
    }
    return measureSeries(
      { name: `hits of users at random, ${scheme}, by users`, law: { kind: 'flat', factor: MAX_FACTOR }, rows },
      duration,
      say,
    )
  }
}

/** Returns the header of each user with a token of the edge. */
async function tokensOf({ url }: GrowthEdge, users: number): Promise<string[]> {
  const pool = new Pool(url, { connections: LANES, pipelining: 1 })
  const tokens: string[] = []
  let next = 0
  const lane = async () => {
    for (let user = next++; user < users; user = next++) {
      const headers = { authorization: basicOf(user) }
      const { statusCode, body } = await pool.request({ method: 'POST', path: '/security/user/authenticate', headers })
      const { data } = (await body.json()) as { readonly data?: { readonly token?: string } }
      if (statusCode !== 200 || data?.token === undefined) throw new WrongResponseError(`no token: ${statusCode}`)
      tokens[user] = `Bearer ${data.token}`
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await pool.close()
  return tokens
}
