/** Nodes of releases 4.x ignore the case of the name of a section, where releases 3.x refuse it (1102). */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('a section of the configuration in another case is unknown, as in releases 3.x', async (t) => {
  const password = 'only-for-tests'
  for (const layout of ['v3', 'v4'] as const) {
    const simulator = await startSimulator({ layout, workers: 0, agents: 2, password })
    t.teardown(() => simulator.close())
    const edge = await startEdge({ nodes: simulator.nodes, password, settings: { cluster: { layout } } })
    t.teardown(() => edge.close())
    for (const [section, error] of [
      ['global', 0],
      ['Global', 1102],
    ] as const) {
      const headers = { authorization: edge.authorization('admin') }
      const response = await fetch(`${edge.url}/manager/configuration?section=${section}`, { headers })
      t.match(await response.json(), { error }, `${layout}: ${section}`)
    }
  }
})
