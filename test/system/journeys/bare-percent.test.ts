import { request } from 'node:http'
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('a percent sign that begins no escape is part of the value', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 5 })
  for (const [sent, received] of [
    ['100%', '100%'],
    ['a+%', 'a %'],
    ['%zz', '%zz'],
    ['%25', '%'],
    ['%20%', '%20%'],
  ] as const) {
    const url = new URL(`/agents?limit=1&search=${sent}`, edge.url)
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers = { authorization: edge.authorization('admin') }
      // Sends the path unchanged.
      const options = { host: url.hostname, port: url.port, path: `/agents?limit=1&search=${sent}`, headers }
      request(options, (response) => void response.resume().on('end', () => resolve(response.statusCode)))
        .on('error', reject)
        .end()
    })
    t.equal(status, 200, sent)
    const call = simulator.seen.findLast(({ url }) => url.startsWith('/agents?'))
    t.equal(new URL(call?.url ?? '', 'http://node').searchParams.get('search'), received, sent)
  }
})
