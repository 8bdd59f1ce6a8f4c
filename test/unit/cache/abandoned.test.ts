/** Who awaits a fetch that requests share, and what follows if it was dropped because no client did. */
import t from 'tap'
import { AbandonedError, Presence } from '../../../src/core/presence.ts'
import { bodyOf, createLatch, edgeRequest, replica, settle, success } from '../../support/edge-requests.ts'

const request = (more: object = {}) => ({
  ...edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } }),
  ...more,
})

function client() {
  const presence = new Presence()
  return { signal: new AbortController().signal, presence }
}

t.test(
  'a shared fetch is awaited while one of its clients is connected, and for good once a refresh joins it',
  async (t) => {
    const { read, nodes } = replica()
    const { opened, open } = createLatch()
    nodes.respond = async (_, call) => {
      await opened
      return success(call)
    }
    const [one, other] = [client(), client()]
    const reads = [read(request({ client: one })), read(request({ client: other }))]
    await settle()
    const state = () => nodes.requests[0]?.client.presence?.state
    one.presence.set('left')
    t.equal(state(), 'connected')
    other.presence.set('halfClosed')
    t.equal(state(), 'halfClosed')
    reads.push(read(request({ client: { signal: one.signal } })))
    await settle()
    t.equal(state(), 'connected')
    open()
    t.same(
      (await Promise.all(reads)).map((response) => bodyOf(response).data),
      [1, 1, 1],
    )
  },
)

t.test('a fetch is awaited from its start by the client that begins it', async (t) => {
  const { read, nodes } = replica()
  const awaited: unknown[] = []
  nodes.respond = async ({ client: { presence } }, call) => {
    awaited.push([presence?.isAwaited, presence?.isInteractive])
    return success(call)
  }
  await read(request({ client: client() }))
  t.strictSame(awaited, [[true, true]])
})

t.test('a client that joins a fetch when it is dropped makes another call, and no node has failed', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    if (call > 1) return success(call)
    await opened
    throw new AbandonedError(921)
  }
  const [leaving, closed, stays] = [client(), client(), client()]
  const left = read(request({ client: leaving }))
  await settle()
  leaving.presence.set('left')
  closed.presence.set('halfClosed')
  const both = [read(request({ client: closed })), read(request({ client: stays }))] as const
  await settle()
  open()
  await t.rejects(async () => left, { code: 921 })
  await t.rejects(async () => both[0], { code: 921 }, 'this one is not connected')
  t.equal(bodyOf(await both[1]).data, 2)
  t.equal(nodes.requests.length, 2)
})

t.test('work of the edge has no client that could leave', async (t) => {
  const { read, nodes } = replica()
  const states: unknown[] = []
  nodes.respond = async ({ client }, call) => {
    states.push(client.presence?.state)
    return success(call)
  }
  const all = edgeRequest('GET /agents')
  await read({ ...all, client: client() })
  // The rows of a snapshot; the response has none.
  await t.rejects(async () => read({ ...all, extent: 'allRows', client: client() }))
  t.same(states, ['connected', undefined])
})
