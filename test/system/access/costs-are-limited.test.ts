import t from 'tap'
import { simulated } from '../../support/simulated.ts'

/** Far more than the machine answers within a second without a limit of one. */
const BURST = 30

t.test('one cost per second', async (t) => {
  const settings = {
    cluster: { discover: false },
    access: { limits: { requestsPerSecond: 1 } },
    cache: { ttl: { agents: '10m' } },
  }
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 3 }, { settings })
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(`${edge.url}${path}`, {
      method,
      headers: { authorization: edge.authorization('admin') },
    })
    return { status: response.status, headers: response.headers, body: (await response.json()) as { error: number } }
  }
  const callsOf = (part: string) => simulator.seen.filter(({ url }) => url.includes(part)).length
  const burst = (path: (at: number) => string, method = 'GET') =>
    Promise.all(Array.from({ length: BURST }, (_, at) => ask(path(at), method)))
  const servedOf = (responses: Awaited<ReturnType<typeof burst>>) =>
    responses.filter(({ status }) => status !== 429).length

  await t.test('misses over the limit are 903 and never forwarded', async (t) => {
    // The credentials are known from then on. Before, a request counts for its address, which has another limit.
    await ask('/agents/000')
    const responses = await burst((at) => `/agents?search=miss${at}`)
    t.ok(servedOf(responses) < BURST, `${servedOf(responses)} served`)
    t.equal(callsOf('search=miss'), servedOf(responses))
    const over = responses.find(({ status }) => status === 429)
    t.equal(over?.body.error, 903)
    const { headers } = over ?? {}
    t.match(headers?.get('retry-after'), /^[1-9]\d*$/)
    t.equal(headers?.get('ratelimit-limit'), '1')
    t.equal(headers?.get('ratelimit-remaining'), '0')
  })

  await t.test('writes', async (t) => {
    const responses = await burst((at) => `/agents/groups/written${at}`, 'PUT')
    t.ok(servedOf(responses) < BURST, `${servedOf(responses)} served`)
    t.equal(callsOf('/written'), servedOf(responses))
  })

  await t.test('operations on the cache, and reads that are never stored', async (t) => {
    t.ok(servedOf(await burst(() => '/cache')) < BURST)
    t.ok(servedOf(await burst(() => '/agents/001/key')) < BURST)
  })
})
