import t from 'tap'
import { createMemoryStore, type MemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { bodyOf, cacheStatusOf, createLatch, edgeRequest, replica, settle } from '../../support/edge-requests.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })

/** A store that takes what is to be kept, and is done with it when the gate opens. */
function stalled() {
  const memory = createMemoryStore({ bytes: 1 << 20 })
  const { opened, open } = createLatch()
  const released: string[] = []
  const store: MemoryStore = {
    ...memory,
    store: async (entry) => {
      await opened
      await memory.store(entry)
    },
    acquireFetchLock: async (key, mark, patience) => {
      const claim = await memory.acquireFetchLock(key, mark, patience)
      if (!claim.held) return claim
      const release = async () => void released.push(key)
      return { held: true, release }
    },
  }
  return { store, open, released }
}

t.test('an answer does not wait for a store that stalls, and is not said to be stored', async (t) => {
  const { store, open, released } = stalled()
  const { read, nodes } = replica({ store })
  const given = await read(one())
  t.equal(bodyOf(given).data, 1)
  t.equal(cacheStatusOf(given)?.stored, undefined)
  t.strictSame(released, [], 'other replicas wait on: the answer may still come to be kept')
  open()
  await settle()
  t.equal(released.length, 1)
  t.match(cacheStatusOf(await read(one())), { hit: true })
  t.equal(nodes.calls, 1)
})

t.test('neither does one that was asked for anew', async (t) => {
  const { store } = stalled()
  const { read } = replica({ store })
  const given = await read({ ...one(), directives: { noCache: true, noStore: false } })
  t.match(cacheStatusOf(given), { fwd: 'request' })
  t.equal(cacheStatusOf(given)?.stored, undefined)
})
