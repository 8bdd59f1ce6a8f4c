import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { edgeOf, LIST_INTERVAL_MS } from './replicas.ts'

t.test('when the replica that reads the list dies, another one reads it', async (t) => {
  const { start, simulator, lists } = await edgeOf(t)
  const replicas = [await start(), await start(), await start()]
  // The youngest list decides: it is that of the last replica.
  const [first, second, last] = replicas
  await last?.kill()
  const joined = await simulator.join()
  const before = lists()
  const due = performance.now() + LIST_INTERVAL_MS
  const hasFound = () =>
    [first, second].every((each) => each?.cluster.view.nodes().some(({ name }) => name === joined.name))
  await eventually(hasFound)
  const late = performance.now() - due
  t.ok(late < 2 * LIST_INTERVAL_MS, `${late} ms after the list was due`)
  t.ok(lists() - before <= 2, 'and not all of them')
})
