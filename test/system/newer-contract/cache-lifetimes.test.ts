/** The setting cache.endpoints names endpoints of either contract, and a name means one of them. */
import t from 'tap'
import { bothPorts } from './both-ports.ts'

interface Config {
  readonly endpoints: Readonly<Record<string, { readonly ttlMs: number }>>
}

t.test('a lifetime is that of the endpoint of one contract', async (t) => {
  const settings = { cache: { endpoints: { '/agents/groups': '1s', '/agents': '3s', 'newer:/agents': '90s' } } }
  const { classic, newer } = await bothPorts(t, settings)
  const own = (await classic(0, '/cache/config')).body.data as Config
  const [other] = (await newer(0, '/cache/config')).body.data.affected_items as readonly Config[]
  t.equal(own.endpoints['/agents']?.ttlMs, 3000)
  t.equal(other?.endpoints['newer:/agents']?.ttlMs, 90_000)
  t.equal(other?.endpoints['newer:/groups']?.ttlMs, 5000, 'the group of the endpoint')
  await newer(0, '/agents?limit=4')
  const left = Number(/ttl=(\d+)/.exec((await newer(0, '/agents?limit=4')).cache)?.[1])
  t.ok(left > 60 && left <= 90, `${left} s`)
  await classic(0, '/agents?limit=5')
  const explained = (await classic(0, '/cache/explain?url=/agents?limit=5')).body.data as {
    readonly next: { readonly timeLeft: number }
  }
  t.ok(explained.next.timeLeft <= 3100, `${explained.next.timeLeft} ms`)
})
