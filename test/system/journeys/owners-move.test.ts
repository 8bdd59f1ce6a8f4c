import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { edgeMode } from './edge-mode.ts'

t.test('an agent that moves', async (t) => {
  const { simulator, ask, seen, lookups } = await edgeMode(t, {
    settings: { cache: { ttl: { agents: '1s', syscollector: '0s', rootcheck: '0s' } } },
  })
  const move = (id: string, node: string) => Object.assign(simulator.world.agents.get(id) ?? {}, { node })
  t.match((await ask('GET /syscollector/002/os')).body.data, { hostname: String })
  seen()

  await t.test('is found at its new node although the table still names the old one', async (t) => {
    move('002', 'worker-2')
    const moved = await ask('GET /syscollector/002/os')
    t.match(moved.body, { error: 0, data: { hostname: String } }, 'no empty result')
    t.equal(seen().at(-1), 'worker-2 GET /syscollector/002/os')
    t.match(await ask('GET /syscollector/002/os'), { body: { data: { hostname: String } } })
    t.strictSame(seen(), ['worker-2 GET /syscollector/002/os'], 'the new owner is remembered')
  })

  await t.test('is in the owner table after the cache duration of agents', async (t) => {
    move('005', 'master')
    lookups()
    // The table of the first lookup is in use when the second lookup is sent.
    let refreshed = 0
    await eventually(async () => {
      await ask('GET /syscollector/001/os')
      refreshed += lookups().length
      return refreshed >= 2
    })
    seen()
    await ask('GET /syscollector/005/os')
    t.strictSame(seen(), ['master GET /syscollector/005/os'], 'the old node is not called')
  })

  await t.test('receives writes at its new node immediately', async (t) => {
    move('008', 'worker-2')
    const agent = simulator.world.agents.get('008')
    t.match(await ask('PUT /agents/008/restart'), { body: { error: 0, data: { affected_agents: ['008'] } } })
    t.strictSame(seen(), ['worker-2 PUT /agents/008/restart'])
    t.equal(agent?.restarts, 1, 'it was restarted, once')
  })

  await t.test('an empty result is returned after the master has confirmed the owner', async (t) => {
    lookups()
    const empty = await ask('GET /syscollector/033/os')
    t.match(empty, { status: 200, body: { error: 0, data: {} } }, 'a pending agent has no inventory')
    t.equal(seen().filter((call) => call.includes('/syscollector/033')).length, 1)
    t.ok(lookups().some((call) => call.startsWith('master GET /agents?') && call.includes('033')))
  })

  await t.test('requests for agents that do not exist or never connected go to the master', async (t) => {
    t.match(await ask('GET /syscollector/999/os'), { body: { error: 1701 } })
    t.match(await ask('PUT /agents/999/restart'), { body: { error: 1701 } })
    t.match(await ask('GET /syscollector/020/os'), { body: { error: 0, data: {} } })
    t.ok(
      seen().every((call) => call.startsWith('master ')),
      'no other node was called',
    )
  })
})

t.test('concurrent reads of many agents cost one owner lookup', async (t) => {
  const { ask, lookups } = await edgeMode(t, { settings: { cache: { ttl: { agents: '1s' } } } })
  const ids = Array.from({ length: 12 }, (_, at) => String(at + 1).padStart(3, '0'))
  const reads = await Promise.all(ids.map((id) => ask(`GET /syscollector/${id}/hardware`)))
  t.ok(reads.every(({ body }) => body.data.board_serial !== undefined || body.data.cpu !== undefined))
  t.equal(lookups().length, 1)
  let again = 0
  let further = 0
  for (let tries = 0; tries < 100 && again === 0; tries += 1) {
    // Stays below the rate limit of a caller.
    await wait(200)
    await Promise.all(ids.map((id) => ask(`GET /syscollector/${id}/os`)))
    further += ids.length
    again += lookups().length
  }
  t.equal(again, 1, `one more in ${further} reads after the cache duration of agents`)
})
