import { Agent, request as send } from 'node:http'
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

const HOT = ['/agents?limit=1', '/agents/001', '/agents/groups', '/rules?limit=1', '/decoders?limit=1']
const CONNECTIONS = 20
const ROUNDS = 10

for (const origins of [[], ['https://dashboard.example']]) {
  const path = origins.length === 0 ? 'fast path' : 'regular path'

  t.test(`thousands of hits of one account pass while misses are limited to five per second (${path})`, async (t) => {
    const { edge } = await simulated(
      t,
      { workers: 0, agents: 3 },
      {
        settings: {
          listen: { cors: { origins } },
          access: { limits: { requestsPerSecond: 5 } },
          cache: { ttl: { agents: '10m', rules: '10m', decoders: '10m' } },
        },
      },
    )
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
    t.teardown(() => agent.destroy())
    const ask = (url: string, method = 'GET', headers = {}) =>
      new Promise<{ readonly status: number; readonly etag: string }>((resolve, reject) => {
        const { hostname, port } = new URL(edge.url)
        const options = { hostname, port, path: url, method, agent }
        send({ ...options, headers: { authorization: edge.authorization('reader'), ...headers } }, (response) => {
          response.resume()
          response.on('end', () => resolve({ status: response.statusCode ?? 0, etag: response.headers.etag ?? '' }))
        })
          .on('error', reject)
          .end()
      })
    // One at a time: five misses are within the limit of any second.
    const etags = new Map<string, string>()
    for (const url of HOT) etags.set(url, (await ask(url)).etag)
    const counts = new Map<number, number>()
    const person = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const url of HOT) {
          const all = [ask(url), ask(url, 'HEAD'), ask(url, 'GET', { 'if-none-match': etags.get(url) })]
          for (const { status } of await Promise.all(all)) counts.set(status, (counts.get(status) ?? 0) + 1)
        }
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, person))
    const each = CONNECTIONS * ROUNDS * HOT.length
    t.strictSame(Object.fromEntries(counts), { 200: 2 * each, 304: each })
  })
}
