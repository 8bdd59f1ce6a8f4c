/** The order of the layers: of several layers that would reject a call, the outermost one does. */
import t from 'tap'
import { type Layer, stack } from '../../../src/upstream/layer.ts'
import { clusterOf, fakeNode, get } from './fake-node.ts'

t.test('the first layer of a list is the outermost', async (t) => {
  const entered: string[] = []
  const named = (name: string): Layer => {
    return (next) => (call) => {
      entered.push(name)
      return next(call)
    }
  }
  const send = stack([named('first'), named('second')], async ({ node }) => {
    entered.push('send')
    return { ok: false, node, fault: 'timeout', sent: true, detail: '' }
  })
  await send(get())
  t.same(entered, ['first', 'second', 'send'])
})

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
