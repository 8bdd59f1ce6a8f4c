import t from 'tap'
import { createCosts } from '../../src/v4/costs.ts'
import { startV4 } from './ask.ts'

t.test('one process executes the calls of a node, another one checks its passwords', async (t) => {
  const costs = createCosts(10)
  // Simulated times keep no process alive, and this test has no servers.
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(alive))
  const start = performance.now()
  const done: string[] = []
  const note = (name: string) => () => done.push(`${name} ${performance.now() - start >= 190 ? 'late' : 'early'}`)
  await Promise.all([
    costs.execute(1000).then(note('first')),
    costs.execute(1000).then(note('second')),
    costs.carryOut(1000).then(note('third')),
    costs.logIn().then(note('login')),
  ])
  t.equal(done.length, 4)
  t.equal(done.at(-1), 'third late', 'calls wait for each other')
  t.match(costs.load, { interpreted: 2, forwarded: 1 })
})

t.test('a simulated node of the v4 layout is as slow as a real one, scaled', async (t) => {
  const { sim, ask } = await startV4(t, { capacity: { scale: 4 }, v4: { ownCacheMs: 0 } })
  await ask('GET /')
  const start = performance.now()
  await Promise.all([ask('GET /rules?limit=1'), ask('GET /rules?limit=2'), ask('GET /rules?limit=3')])
  t.ok(performance.now() - start >= 290, 'three times 400 ms of processor time, four times as fast')
  t.match(sim.load('master'), { inFlight: 0, most: 3 })
})
