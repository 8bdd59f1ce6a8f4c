/** A node that takes longer than usual: stored responses are served stale before it is known whether the node hangs. */
import t from 'tap'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const one = (id = '001') => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const never = () => new Promise<never>(() => undefined)
const firstNode = () => 'm'
const STALE = { detail: 'stale-while-revalidate' }

/** Two responses are stored and stale, and a fetch from their node gets no response. */
async function startLateFetch() {
  const edge = replica({ firstNode })
  await Promise.all([edge.read(one()), edge.read(one('002'))])
  edge.clock.advance(5000)
  edge.nodes.respond = ({ params }) => (params.agent_id === '003' ? never() : success('new'))
  void edge.read(one('003'))
  await settle()
  return edge
}

t.test(
  'a request waits three usual times of its fetch, at least 250 ms, then it gets the stale response',
  async (t) => {
    const { read, nodes, clock } = replica()
    await read(one())
    clock.advance(5000)
    const { opened, open } = createLatch()
    nodes.respond = async () => {
      await opened
      return success('new')
    }
    const began = performance.now()
    const stale = await read(one())
    t.match(cacheStatusOf(stale), { fwd: 'stale', ...STALE })
    t.equal(bodyOf(stale).data, 1)
    const waited = performance.now() - began
    t.ok(waited >= 240 && waited < 1500, `${waited} ms`)
    open()
    await settle()
    t.equal(bodyOf(await read(one())).data, 'new', 'the fetch goes on, and its response is stored')
    t.equal(nodes.calls, 2)
  },
)

t.test('while the fetches from a node are late, no request with a stored response waits', async (t) => {
  const { read, nodes, clock } = await startLateFetch()
  clock.advance(1499)
  nodes.respond = never
  const waits = read(one())
  await settle()
  t.equal(await Promise.race([waits, 'waits']), 'waits', 'a fetch of an unknown usual time is late after 1.5 s')
  clock.advance(1)
  t.match(cacheStatusOf(await read(one('002'))), { hit: true, ...STALE })
  t.match(cacheStatusOf(await waits), STALE)
})

t.test('a node that answers another fetch is not late', async (t) => {
  const { read, clock } = await startLateFetch()
  clock.advance(1400)
  t.equal(bodyOf(await read(one())).data, 'new')
  clock.advance(1400)
  t.equal(bodyOf(await read(one('002'))).data, 'new')
})

t.test('a read that takes minutes says nothing about its node', async (t) => {
  const { read, nodes, clock } = replica({ firstNode })
  await read(one())
  clock.advance(5000)
  nodes.respond = never
  void read({ ...one('003'), effort: 'complete' })
  void read({ ...one('004'), waitForComplete: true })
  await settle()
  clock.advance(5000)
  nodes.respond = () => success('new')
  t.equal(bodyOf(await read(one())).data, 'new')
})

t.test('calls that wait for the limit per minute of the node are not late', async (t) => {
  let wait = 0
  const { read, nodes, clock } = replica({ firstNode, waitForRead: () => wait })
  await read(one())
  clock.advance(5000)
  nodes.respond = never
  void read(one('003'))
  await settle()
  clock.advance(2000)
  wait = Number.POSITIVE_INFINITY
  const waits = read(one())
  await settle()
  t.equal(await Promise.race([waits, 'waits']), 'waits')
})

t.test('after a write, and beyond the stale time, a request waits for the late fetch', async (t) => {
  const { read, nodes, clock, store } = replica()
  await Promise.all([read(one()), read(one('002'))])
  clock.advance(5000)
  const { opened, open } = createLatch()
  nodes.respond = async () => {
    await opened
    return success('new')
  }
  const afterWrite = read(one())
  await (await store.fence(['agent:001'])).lift([])
  clock.advance(60_000)
  const tooOld = read(one('002'))
  setTimeout(open, 400)
  t.equal(bodyOf(await afterWrite).data, 'new')
  t.equal(bodyOf(await tooOld).data, 'new')
})
