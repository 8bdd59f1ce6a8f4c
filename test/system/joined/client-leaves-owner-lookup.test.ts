import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { sendAndLeaveLater } from '../../support/raw.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

t.test('an owner lookup that fails after the client has left causes no unhandled rejection', async (t) => {
  // The master never responds.
  let closed = 0
  const master = await fakeNode(t, (_, response) => {
    response.on('close', () => {
      closed += 1
    })
  })
  const edge = await startEdge({
    nodes: [{ name: 'm', type: 'master', url: master.url }],
    settings: {
      cluster: { discover: false, limits: { timeout: '1s', slowTimeout: '1s' } },
      // A fetch for the cache would continue without its client.
      cache: { enabled: false },
    },
  })
  t.teardown(() => edge.close())
  const unhandled: unknown[] = []
  const record = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', record)
  t.teardown(() => process.off('unhandledRejection', record))
  const leave = sendAndLeaveLater(`${edge.url}/experimental/syscollector/os`, {
    authorization: edge.authorization('admin'),
  })
  while (master.seen.length < 2) await new Promise((later) => setTimeout(later, 10))
  await leave()
  while (closed < master.seen.length) await new Promise((later) => setTimeout(later, 10))
  // Rejections are reported after the callbacks of the closed calls.
  await new Promise((later) => setImmediate(later))
  t.strictSame(unhandled, [])
})
