/** A URL of either contract is explained at either port. */
import t from 'tap'
import { bothPorts } from './both-ports.ts'

interface Explained {
  readonly endpoint: string
  readonly url: string
  readonly key: string
  readonly next: { readonly hit: boolean; readonly reason: string }
  readonly invalidatedBy: readonly { readonly write: string }[]
}

t.test('a path is one of the contract of the port, and a prefix names the other one', async (t) => {
  const { classic, newer } = await bothPorts(t)
  await classic(0, '/agents?limit=2')
  await newer(1, '/agents?limit=2')
  const atClassic = async (url: string) =>
    (await classic(0, `/cache/explain?url=${encodeURIComponent(url)}`)).body.data as Explained
  const atNewer = async (url: string) =>
    (await newer(0, `/cache/explain?url=${encodeURIComponent(url)}`)).body.data.affected_items[0] as Explained
  const ofClassic = await atClassic('/agents?limit=2')
  const ofNewer = await atNewer('/agents?limit=2')
  t.match(ofClassic, { endpoint: 'GET /agents', url: '/agents?limit=2&offset=0', next: { hit: true } })
  t.match(ofNewer, { endpoint: 'GET newer:/agents', url: /^newer:\/agents\?/, next: { hit: true, reason: 'fresh' } })
  t.not(ofClassic.key, ofNewer.key)
  t.equal((await atClassic('newer:/agents?limit=2')).key, ofNewer.key)
  t.equal((await atNewer('newer:/agents?limit=2')).key, ofNewer.key)
  t.equal((await atNewer('classic:/agents?limit=2')).key, ofClassic.key)
  t.equal((await atClassic('classic:/agents?limit=2')).key, ofClassic.key)
  t.equal((await atNewer(ofNewer.url)).key, ofNewer.key, 'the url of an explanation can be explained')
  t.equal((await atNewer('/agents?limit=7')).next.hit, false)
  const writesOf = ({ invalidatedBy }: Explained) => invalidatedBy.map(({ write }) => write)
  t.ok(writesOf(ofClassic).includes('POST newer:/agents'), 'writes of both contracts')
  t.ok(writesOf(ofClassic).includes('POST /agents'))
  t.ok(writesOf(ofNewer).includes('POST classic:/agents'))
})

t.test('a URL that the request would be refused with is refused in the form of the port', async (t) => {
  const { simulator, classic, newer } = await bothPorts(t)
  const before = simulator.seen.length
  const wrong = encodeURIComponent('newer:/agents?limit=x')
  t.match(await newer(0, `/cache/explain?url=${wrong}`), {
    status: 400,
    type: 'application/problem+json; charset=utf-8',
    body: { title: 'Bad Request', detail: "Wrong type, expected 'integer' for query parameter 'limit'" },
  })
  t.match(await classic(0, `/cache/explain?url=${wrong}`), {
    status: 400,
    body: { error: 604, message: "Filter error: Wrong type, expected 'integer' for query parameter 'limit'" },
  })
  t.match(await newer(0, '/cache/explain?url=/nope'), { status: 404, body: { title: 'Not Found' } })
  t.match(await newer(0, '/cache/explain?url=nope'), { status: 400, body: { title: 'Bad Request', error: 604 } })
  t.equal(simulator.seen.length, before)
})

t.test('without a port of the other contract, its URLs are refused with a sentence', async (t) => {
  const { classic } = await bothPorts(t, { listen: { secondPort: null } })
  t.match(await classic(0, '/cache/explain?url=newer:/agents'), {
    status: 400,
    body: { error: 604, message: 'Filter error. No port of this edge serves the newer contract' },
  })
  const { data } = (await classic(0, '/cache/explain?url=/agents')).body as { data: Explained }
  t.notMatch(JSON.stringify(data), 'newer:')
})
