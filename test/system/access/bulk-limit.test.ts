/** Bulk clients that come again at once after each rejection leave half of the limit of their user to its dashboards. */
import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { simulated } from '../../support/simulated.ts'

const LIMIT = 40
/** Fewer than half of the limit, also in one second. */
const READS = 15
/** Until a client is bulk, and its requests of one second are over the limit. */
const LONGEST_MS = 10_000

/** Sends the requests of a dashboard beside those of a client that reads pages of agents without a pause. */
async function readBeside(t: Test, { keepAlive }: { readonly keepAlive: boolean }) {
  const settings = { cluster: { discover: false }, access: { limits: { requestsPerSecond: LIMIT } } }
  const { edge } = await simulated(t, { workers: 0, agents: 3 }, { settings })
  const client = (keepAlive: boolean) => {
    const agent = new Agent({ keepAlive, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    return (path: string) =>
      new Promise<{ readonly status: number; readonly limit: string }>((resolve, reject) => {
        const { hostname, port } = new URL(edge.url)
        const options = { hostname, port, path, agent, headers: { authorization: edge.authorization('reader') } }
        send(options, (response) => {
          response.resume()
          const limit = String(response.headers['ratelimit-limit'] ?? '')
          response.on('end', () => resolve({ status: response.statusCode ?? 0, limit }))
        })
          .on('error', reject)
          .end()
      })
  }
  const [read, bulk] = [client(true), client(keepAlive)]
  let isOver = false
  let limited = () => {}
  const isLimited = new Promise<void>((resolve) => {
    limited = resolve
  })
  let isBulk = false
  const crowd = async () => {
    for (let at = 0; !isOver; at += 1) {
      const { status, limit } = await bulk(`/agents?offset=1&search=bulk${at}`)
      // The requests before it was bulk count in the first second.
      if (isBulk && status === 200) limited()
      isBulk ||= limit === String(LIMIT / 2)
    }
  }
  const running = crowd()
  await Promise.race([isLimited, sleep(LONGEST_MS)])
  const statuses: number[] = []
  for (let at = 0; at < READS; at += 1) statuses.push((await read(`/agents?search=person${at}`)).status)
  isOver = true
  await running
  return statuses
}

for (const keepAlive of [true, false])
  t.test(
    `a dashboard beside a bulk client of its user, ${keepAlive ? 'on one connection' : 'on new ones'}`,
    async (t) => {
      const statuses = await readBeside(t, { keepAlive })
      t.strictSame(
        statuses,
        Array.from({ length: READS }, () => 200),
      )
    },
  )
