/** The order of a call: of several steps that would reject it, the first one does. */
import t from 'tap'
import { createCounters } from '../../../src/core/counters.ts'
import type { Cluster } from '../../../src/upstream/index.ts'
import { clusterOf, fakeNode, get } from './fake-node.ts'

/** Drains of another replica. */
function sharedDrains() {
  const counters = createCounters(() => performance.now())
  const drain = async (cluster: Pick<Cluster, 'drains'>, node: string) => {
    const text = JSON.stringify({ revision: 1, drains: [{ node, by: 'ann', at: 0 }] })
    await counters.update(['drains'], (texts) => texts.set('drains', text, 60_000))
    await cluster.drains.start()
  }
  return { counters, drain }
}

t.test('calls that are passed on, before the layout, before the state of the asked node', async (t) => {
  const node = await fakeNode(t, () => undefined)
  const { counters, drain } = sharedDrains()
  const cluster = clusterOf(t, node.url, { layout: 'auto', counters })
  await drain(cluster, 'w1')
  t.match(await cluster.call(get('/x', { passedOnTo: { node: 'w1' } })), {
    fault: 'drained',
    reason: 'otherDrained',
    about: 'w1',
  })
  t.match(await cluster.call(get('/x')), { fault: 'ejected', reason: 'layoutUnknown' })
})

t.test('drained, before ejected, before queued', async (t) => {
  const node = await fakeNode(t, ({ socket }) => socket.destroy())
  const limits = { inFlight: 1, queue: 0 }
  const ejection = { failures: 1, refusals: 1, baseTime: 60_000, maxTime: 60_000, maxOutageTime: 60_000 }
  const { counters, drain } = sharedDrains()
  const cluster = clusterOf(t, node.url, { limits, ejection, counters })
  const failing = cluster.call(get('/fails'))
  t.match(await cluster.call(get('/second')), { fault: 'overloaded' }, 'the queue is full')
  await failing
  t.match(await cluster.call(get('/ejected')), { fault: 'ejected' })
  await drain(cluster, 'master')
  t.match(await cluster.call(get('/drained')), { fault: 'drained' })
})
