/** The setting cache.endpoints names endpoints of either contract, and a name means one of them. */
import t from 'tap'
import { bothPorts } from './both-ports.ts'

interface Config {
  readonly endpoints: Readonly<Record<string, { readonly ttlMs: number }>>
}

t.test('a lifetime is that of the endpoint of one contract', async (t) => {
  const settings = { cache: { endpoints: { '/agents/groups': '1s', '/agents': '3s', 'v4:/agents': '90s' } } }
  const { v3, v4 } = await bothPorts(t, settings)
  const own = (await v3(0, '/cache/config')).body.data as Config
  const [other] = (await v4(0, '/cache/config')).body.data.affected_items as readonly Config[]
  t.equal(own.endpoints['/agents']?.ttlMs, 3000)
  t.equal(other?.endpoints['v4:/agents']?.ttlMs, 90_000)
  t.equal(other?.endpoints['v4:/groups']?.ttlMs, 5000, 'the group of the endpoint')
  await v4(0, '/agents?limit=4')
  const left = Number(/ttl=(\d+)/.exec((await v4(0, '/agents?limit=4')).cache)?.[1])
  t.ok(left > 60 && left <= 90, `${left} s`)
  await v3(0, '/agents?limit=5')
  const explained = (await v3(0, '/cache/explain?url=/agents?limit=5')).body.data as {
    readonly next: { readonly timeLeft: number }
  }
  t.ok(explained.next.timeLeft <= 3100, `${explained.next.timeLeft} ms`)
})
