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
  const { v3, v4 } = await bothPorts(t)
  await v3(0, '/agents?limit=2')
  await v4(1, '/agents?limit=2')
  const atV3 = async (url: string) =>
    (await v3(0, `/cache/explain?url=${encodeURIComponent(url)}`)).body.data as Explained
  const atV4 = async (url: string) =>
    (await v4(0, `/cache/explain?url=${encodeURIComponent(url)}`)).body.data.affected_items[0] as Explained
  const ofV3 = await atV3('/agents?limit=2')
  const ofV4 = await atV4('/agents?limit=2')
  t.match(ofV3, { endpoint: 'GET /agents', url: '/agents?limit=2&offset=0', next: { hit: true } })
  t.match(ofV4, { endpoint: 'GET v4:/agents', url: /^v4:\/agents\?/, next: { hit: true, reason: 'fresh' } })
  t.not(ofV3.key, ofV4.key)
  t.equal((await atV3('v4:/agents?limit=2')).key, ofV4.key)
  t.equal((await atV4('v4:/agents?limit=2')).key, ofV4.key)
  t.equal((await atV4('v3:/agents?limit=2')).key, ofV3.key)
  t.equal((await atV3('v3:/agents?limit=2')).key, ofV3.key)
  t.equal((await atV4(ofV4.url)).key, ofV4.key, 'the url of an explanation can be explained')
  t.equal((await atV4('/agents?limit=7')).next.hit, false)
  const writesOf = ({ invalidatedBy }: Explained) => invalidatedBy.map(({ write }) => write)
  t.ok(writesOf(ofV3).includes('POST v4:/agents'), 'writes of both contracts')
  t.ok(writesOf(ofV3).includes('POST /agents'))
  t.ok(writesOf(ofV4).includes('POST v3:/agents'))
})

t.test('a URL that the request would be refused with is refused in the form of the port', async (t) => {
  const { simulator, v3, v4 } = await bothPorts(t)
  const before = simulator.seen.length
  const wrong = encodeURIComponent('v4:/agents?limit=x')
  t.match(await v4(0, `/cache/explain?url=${wrong}`), {
    status: 400,
    type: 'application/problem+json; charset=utf-8',
    body: { title: 'Bad Request', detail: "Wrong type, expected 'integer' for query parameter 'limit'" },
  })
  t.match(await v3(0, `/cache/explain?url=${wrong}`), {
    status: 400,
    body: { error: 604, message: "Filter error: Wrong type, expected 'integer' for query parameter 'limit'" },
  })
  t.match(await v4(0, '/cache/explain?url=/nope'), { status: 404, body: { title: 'Not Found' } })
  t.match(await v4(0, '/cache/explain?url=nope'), { status: 400, body: { title: 'Bad Request', error: 604 } })
  t.equal(simulator.seen.length, before)
})

t.test('without a port of the other contract, its URLs are refused with a sentence', async (t) => {
  const { v3 } = await bothPorts(t, { listen: { secondPort: null } })
  t.match(await v3(0, '/cache/explain?url=v4:/agents'), {
    status: 400,
    body: { error: 604, message: 'Filter error. No port of this edge serves the v4 contract' },
  })
  const { data } = (await v3(0, '/cache/explain?url=/agents')).body as { data: Explained }
  t.notMatch(JSON.stringify(data), 'v4:')
})
