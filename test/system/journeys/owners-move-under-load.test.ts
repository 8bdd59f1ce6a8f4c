import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { edgeMode } from './edge-mode.ts'

t.test('while agents move, every response has the data of the requested agent', async (t) => {
  const { simulator, ask, lookups } = await edgeMode(t, {
    cluster: { limits: { inFlight: 8 } },
    settings: {
      cache: { ttl: { agents: '1s', syscollector: '0s' } },
      access: { limits: { requestsPerSecond: 100_000 } },
    },
  })
  const { world } = simulator
  const ids = ['001', '002', '003', '004', '005', '006', '008', '009', '010', '011', '012', '013']
  const names = world.nodes.map(({ name }) => name)
  let running = true
  const wrong: string[] = []
  let reads = 0
  const client = async (from: number) => {
    for (let at = from; running; at += 1) {
      const id = ids[at % ids.length] ?? ''
      const { status, body } = await ask(`GET /syscollector/${id}/os`)
      reads += 1
      if (status !== 200 || body.data?.hostname !== world.agents.get(id)?.name)
        wrong.push(`${id} ${status} ${JSON.stringify(body)}`)
    }
  }
  const load = Promise.all([0, 3, 6, 9].map(client))
  for (let move = 0; move < 60; move += 1) {
    const agent = world.agents.get(ids[(move * 5) % ids.length] ?? '')
    Object.assign(agent ?? {}, { node: names[(move + 1) % names.length] })
    await wait(50)
  }
  running = false
  await load
  t.strictSame(wrong.slice(0, 3), [], `${reads} reads`)
  t.ok(reads > 60)
  t.ok(lookups().length < reads + 60, 'most reads need no owner lookup')
})
