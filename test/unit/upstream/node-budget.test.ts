/** The calls per minute count as the nodes do: logins, 404s and refusals too. Idle connections end before a node ends them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { clusterOf, fakeNode, get } from './fake-node.ts'
import { sendJson, withLogin } from './v4-node.ts'

t.test('a login and a 404 count', async (t) => {
  const { url, seen } = await fakeNode(
    t,
    withLogin((_, response) => sendJson(response, 404, { title: 'Not Found', detail: '404: Not Found' })),
  )
  const cluster = clusterOf(t, url, { layout: 'v4' })
  for (let at = 0; at < 5; at += 1) await cluster.call(get('/nope'))
  t.equal(seen.length, 6)
  t.equal(cluster.status()[0]?.budget?.used, 6)
})

t.test('the edge closes a connection that is idle for five seconds', async (t) => {
  const ended: number[] = []
  let answeredAt = 0
  const { url } = await fakeNode(
    t,
    withLogin((request, response) => {
      request.socket.once('end', () => ended.push(performance.now() - answeredAt))
      answeredAt = performance.now()
      sendJson(response, 200, { data: { affected_items: [] }, error: 0 })
    }),
  )
  const cluster = clusterOf(t, url, { layout: 'v4' })
  await cluster.call(get())
  await sleep(4_900)
  t.equal(ended.length, 1)
  t.ok((ended[0] ?? 0) < 5_000, `${ended[0]} ms`)
})
