/** What the calls of a replica show about the nodes in use, and which nodes it calls to find out. */
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { NodeCallEvent } from '../../../src/core/events.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get } from './fake-node.ts'

const contactTimes = { interval: 20, slowInterval: 40, timeout: 1_000, idleInterval: 60 }
const refuse: RequestListener = (_, response) => response.writeHead(401).end()

t.test('a drained node decides nothing about the credentials', async (t) => {
  const [master, worker] = await Promise.all([fakeNode(t, refuse), fakeNode(t, envelope)])
  const { call, contacts, drains } = clusterOf(t, '', {
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'worker', type: 'worker', url: worker.url },
    ],
  })
  await call(get('/'))
  await call(get('/', { node: 'worker' }))
  t.ok(contacts.isRefused)
  await drains.drain({ node: 'master', by: 'ann', confirmsMaster: true })
  t.notOk(contacts.isRefused)
  t.same(contacts.refusing, [])
})

t.test('a node that does not answer delays no call to another one', async (t) => {
  let isUp = true
  const master = await fakeNode(t, () => undefined)
  const worker = await fakeNode(t, (request, response) => {
    if (isUp) envelope(request, response)
    else request.socket.destroy()
  })
  const { start, contacts } = clusterOf(t, '', {
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'worker', type: 'worker', url: worker.url },
    ],
    contactTimes: { ...contactTimes, timeout: 60_000 },
  })
  await start()
  await eventually(() => contacts.states().get('worker') === 'answered')
  isUp = false
  await eventually(() => contacts.states().get('worker') === 'failing', 5_000)
})

t.test('an ejected node is called when its ejection is over, and not before', async (t) => {
  const calls: NodeCallEvent[] = []
  const node = await fakeNode(t, (request) => request.socket.destroy())
  const { start } = clusterOf(t, node.url, {
    contactTimes,
    ejection: { failures: 2, baseTime: 200 },
    onCall: (event) => calls.push(event),
  })
  await start()
  await eventually(() => calls.filter(({ fault }) => fault === 'unreachable').length > 3)
  const heldBack = calls.filter(({ fault }) => fault === 'ejected').length
  t.equal(heldBack, 0, `of ${calls.length} calls`)
})
