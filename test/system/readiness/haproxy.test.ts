/** The shipped HAProxy configuration in front of two replicas: the smallest form of `haproxy-outages.test.ts`. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { balance, cluster, get } from './balanced.ts'

t.test('it starts with 1,024 open files, and its statistics page shows both replicas', async (t) => {
  const { start } = await cluster(t)
  const balancer = await balance(t, [await start(), await start()], { openFiles: 1024 })
  t.equal((await get(balancer.url, '/agents')).status, 200)
  const page = await (await fetch(balancer.statistics)).text()
  t.match(page, /<title>Statistics Report for HAProxy/)
  for (const name of ['edges', 'edge-1', 'edge-2']) t.match(page, `>${name}</a>`, name)
})

t.test('a rollout with a wrong secret: the old replica stays, the new one gets no request', async (t) => {
  const { start } = await cluster(t)
  const [old, wrong] = [await start(), await start({ password: 'wrong' })]
  const balancer = await balance(t, [old, wrong], { awaited: 1 })
  await eventually(async () => `${await balancer.up()}` === 'edge-1')
  const statuses = new Set<number>()
  for (let at = 0; at < 40; at += 1) {
    const response = await get(balancer.url, `/agents?offset=${at}`)
    await response.arrayBuffer()
    statuses.add(response.status)
  }
  t.strictSame([...statuses], [200], 'no client sees 927')
  t.strictSame(await balancer.up(), ['edge-1'])
})
