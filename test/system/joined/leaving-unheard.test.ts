import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

t.test('mode manager: owners that are not learnt after the client has left end no process', async (t) => {
  // The master says nothing, neither where agents are nor what they have.
  const master = await fakeNode(t, () => undefined)
  const edge = await startEdge({
    nodes: [{ name: 'm', type: 'master', url: master.url }],
    settings: {
      cluster: { discover: false, limits: { timeout: '1s', slowTimeout: '1s' } },
      // What would be kept goes on without its client.
      cache: { enabled: false },
    },
  })
  t.teardown(() => edge.close())
  const unheard: unknown[] = []
  const hear = (fault: unknown) => unheard.push(fault)
  process.on('unhandledRejection', hear)
  t.teardown(() => process.off('unhandledRejection', hear))
  const leaving = new AbortController()
  const asked = fetch(`${edge.url}/experimental/syscollector/os`, {
    headers: { authorization: edge.authorization('admin') },
    signal: leaving.signal,
  })
  while (master.seen.length < 2) await new Promise((later) => setTimeout(later, 10))
  leaving.abort()
  await t.rejects(asked, { name: 'AbortError' })
  await new Promise((later) => setTimeout(later, 1500))
  t.strictSame(unheard, [])
})
