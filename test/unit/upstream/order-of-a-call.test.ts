/** The order of a call: of several steps that would reject it, the first one does. */
import t from 'tap'
import { clusterOf, fakeNode, get } from './fake-node.ts'

t.test('calls that are passed on, before the layout, before the state of the asked node', async (t) => {
  const node = await fakeNode(t, () => undefined)
  const cluster = clusterOf(t, node.url, { layout: 'auto' })
  cluster.drains.replace([{ node: 'w1', by: 'ann', at: 0 }])
  t.match(await cluster.call(get('/x', { passedOnTo: { node: 'w1' } })), { fault: 'drained', detail: /^w1 / })
  t.match(await cluster.call(get('/x')), { fault: 'ejected', detail: /layout/ })
})

t.test('drained, before ejected, before queued', async (t) => {
  const node = await fakeNode(t, ({ socket }) => socket.destroy())
  const limits = { inFlight: 1, queue: 0 }
  const ejection = { failures: 1, refusals: 1, baseTime: 60_000, maxTime: 60_000 }
  const cluster = clusterOf(t, node.url, { limits, ejection })
  const failing = cluster.call(get('/fails'))
  t.match(await cluster.call(get('/second')), { fault: 'overloaded' }, 'the queue is full')
  await failing
  t.match(await cluster.call(get('/ejected')), { fault: 'ejected' })
  cluster.drains.replace([{ node: 'master', by: 'ann', at: 0 }])
  t.match(await cluster.call(get('/drained')), { fault: 'drained' })
})
