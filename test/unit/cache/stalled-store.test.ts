import t from 'tap'
import { createMemoryStore, type MemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { bodyOf, cacheStatusOf, createLatch, edgeRequest, replica, settle } from '../../support/edge-requests.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })

/** A store that stores a response only when the latch opens. */
function stalledStore() {
  const memory = createMemoryStore({ bytes: () => 1 << 20 })
  const { opened, open } = createLatch()
  const released: string[] = []
  const store: MemoryStore = {
    ...memory,
    store: async (entry) => {
      await opened
      await memory.store(entry)
    },
    acquireFetchLock: async (key, mark, patience) => {
      const lock = await memory.acquireFetchLock(key, mark, patience)
      if (!lock.held) return lock
      const release = async () => void released.push(key)
      return { held: true, release }
    },
  }
  return { store, open, released }
}

t.test('a response does not wait for a slow store, and its status does not say stored', async (t) => {
  const { store, open, released } = stalledStore()
  const { read, nodes } = replica({ store })
  const response = await read(one())
  t.equal(bodyOf(response).data, 1)
  t.equal(cacheStatusOf(response)?.stored, undefined)
  t.strictSame(released, [], 'the fetch lock is held until the store has finished')
  open()
  await settle()
  t.equal(released.length, 1)
  t.match(cacheStatusOf(await read(one())), { hit: true })
  t.equal(nodes.calls, 1)
})

t.test('nor does a response to a no-cache request', async (t) => {
  const { store } = stalledStore()
  const { read } = replica({ store })
  const response = await read({ ...one(), reuse: 'noCache' })
  t.match(cacheStatusOf(response), { fwd: 'request' })
  t.equal(cacheStatusOf(response)?.stored, undefined)
})
