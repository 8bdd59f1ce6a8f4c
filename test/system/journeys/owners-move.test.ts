import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { edgeMode } from './edge-mode.ts'

t.test('an agent that moves', async (t) => {
  const { simulator, ask, seen, learnt } = await edgeMode(t, {
    settings: { cache: { durations: { agents: '1s', syscollector: '0s', rootcheck: '0s' } } },
  })
  const move = (id: string, node: string) => Object.assign(simulator.world.agents.get(id) ?? {}, { node })
  t.match((await ask('GET /syscollector/002/os')).body.data, { hostname: String })
  seen()

  await t.test('is found at its new node although the table still names the old one', async (t) => {
    move('002', 'worker-2')
    const moved = await ask('GET /syscollector/002/os')
    t.match(moved.body, { error: 0, data: { hostname: String } }, 'no empty success')
    t.equal(seen().at(-1), 'worker-2 GET /syscollector/002/os')
    t.match(await ask('GET /syscollector/002/os'), { body: { data: { hostname: String } } })
    t.strictSame(seen(), ['worker-2 GET /syscollector/002/os'], 'what was found out is remembered')
  })

  await t.test('is followed by the table within the duration of agents', async (t) => {
    move('005', 'master')
    learnt()
    // A busy machine learns at a slower pace.
    for (let tries = 0; tries < 100 && learnt().length === 0; tries += 1) {
      await wait(200)
      await ask('GET /syscollector/001/os')
    }
    await wait(300)
    seen()
    await ask('GET /syscollector/005/os')
    t.strictSame(seen(), ['master GET /syscollector/005/os'], 'the old node is not asked at all')
  })

  await t.test('is written to at its new node at once', async (t) => {
    move('008', 'worker-2')
    const agent = simulator.world.agents.get('008')
    t.match(await ask('PUT /agents/008/restart'), { body: { error: 0, data: { affected_agents: ['008'] } } })
    t.strictSame(seen(), ['worker-2 PUT /agents/008/restart'])
    t.equal(agent?.restarts, 1, 'it was restarted, once')
  })

  await t.test('an answer that is truly empty is one, after the master was asked', async (t) => {
    learnt()
    const empty = await ask('GET /syscollector/033/os')
    t.match(empty, { status: 200, body: { error: 0, data: {} } }, 'a pending agent has no inventory')
    t.equal(seen().filter((call) => call.includes('/syscollector/033')).length, 1)
    t.ok(learnt().some((call) => call.startsWith('master GET /agents?') && call.includes('033')))
  })

  await t.test('agents that do not exist, or never connected, are the master’s', async (t) => {
    t.match(await ask('GET /syscollector/999/os'), { body: { error: 1701 } })
    t.match(await ask('PUT /agents/999/restart'), {
      body: { error: 0, data: { failed_ids: [{ id: '999', error: { code: 1701 } }] } },
    })
    t.match(await ask('GET /syscollector/020/os'), { body: { error: 0, data: {} } })
    t.ok(
      seen().every((call) => call.startsWith('master ')),
      'nobody else was asked',
    )
  })
})

t.test('reads of many agents cost the master one call for all', async (t) => {
  const { ask, learnt } = await edgeMode(t, { settings: { cache: { durations: { agents: '1s' } } } })
  const ids = Array.from({ length: 12 }, (_, at) => String(at + 1).padStart(3, '0'))
  const reads = await Promise.all(ids.map((id) => ask(`GET /syscollector/${id}/hardware`)))
  t.ok(reads.every(({ body }) => body.data.board_serial !== undefined || body.data.cpu !== undefined))
  t.equal(learnt().length, 1)
  let again = 0
  let further = 0
  for (let tries = 0; tries < 100 && again === 0; tries += 1) {
    await wait(200)
    await Promise.all(ids.map((id) => ask(`GET /syscollector/${id}/os`)))
    further += ids.length
    again += learnt().length
  }
  t.equal(again, 1, `and one more in ${further} reads when it is older than agents may be`)
})
