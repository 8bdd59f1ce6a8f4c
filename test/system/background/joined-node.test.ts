import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { edgeOf, LIST_INTERVAL_MS } from './replicas.ts'

t.test('all replicas find a node that joins, with one list', async (t) => {
  const { start, simulator, lists } = await edgeOf(t)
  const replicas = [await start(), await start(), await start(), await start()]
  const before = lists()
  const { name } = await simulator.join()
  const start0 = performance.now()
  await eventually(() => replicas.every(({ cluster }) => cluster.view.nodes().some((node) => node.name === name)))
  const took = performance.now() - start0
  t.ok(took < 2 * LIST_INTERVAL_MS, `${took} ms`)
  t.ok(lists() - before <= 2, `${lists() - before} lists`)
})
