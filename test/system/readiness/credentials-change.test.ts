import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { reloadable } from '../reload/edge.ts'

t.test('new credentials change the readiness when a node has answered to them, not before', async (t) => {
  const { edge, simulator, change } = await reloadable(t)
  const isReady = async () => (await fetch(`${edge.operationsUrl}/readyz`)).ok
  const stall = () => Promise.all(simulator.nodes.map(({ name }) => simulator.faults.set(name, { stall: true })))
  const use = (password: string) => change({ 'cluster.credentials.password': password })

  await use('one-that-is-wrong')
  await eventually(async () => !(await isReady()))
  await stall()
  await use('another-that-is-wrong')
  t.notOk(await isReady(), 'a replica with refused credentials is not ready until others are accepted')
  await simulator.faults.clear()
  await use('only-for-tests')
  await eventually(isReady)

  await stall()
  await use('one-that-is-wrong')
  t.ok(await isReady(), 'a replica with accepted credentials stays ready while the nodes do not answer')
  await simulator.faults.clear()
  await eventually(async () => !(await isReady()))
})
