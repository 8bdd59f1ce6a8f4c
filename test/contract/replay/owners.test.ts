/** Requests about an agent go to its owner: three real nodes, of which two would return empty data. */
import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { collectionOf, recorded, startThreeNodes } from './three-nodes.ts'

const OF_AGENT = /^\/(?:syscollector|rootcheck|sca|ciscat|syscheck)\/(\d{3})(?:\/|\?|$)/

const nodes = await startThreeNodes(t)
// The nodes have only some rows of a collection, and each recorded query must reach its owner.
const cache = { snapshots: { groups: [] } }
const edge = await startEdge({ nodes, settings: { cache, cluster: { distribution: 'edge', discover: false } } })
t.teardown(() => edge.close())

t.test('every recorded request for data of an agent reaches its owner', async (t) => {
  const owners = new Map(
    collectionOf('master', '/agents').items.map(({ id, node_name }) => [String(id), String(node_name)]),
  )
  t.same([...owners.values()].sort(), ['master', 'master', 'worker-1', 'worker-2'])
  let compared = 0
  for (const { request, response, node, distribution } of recorded) {
    const id = OF_AGENT.exec(request.path)?.[1]
    if (distribution !== 'edge' || id === undefined || owners.get(id) !== node) continue
    const headers = { authorization: edge.authorization('admin') }
    const body = (await (await fetch(`${edge.url}${request.path}`, { headers })).json()) as { data?: { items?: [] } }
    const real = JSON.parse(response.body) as { data?: { items?: [] } }
    if (real.data?.items === undefined) t.same(body, real, `${request.path} of ${node}`)
    else t.same(body.data?.items, real.data.items, `${request.path} of ${node}`)
    compared += 1
  }
  t.ok(compared >= 40, `${compared}`)
})

t.test('other nodes receive no such request', (t) => {
  for (const { name, requested, unknown } of nodes) {
    const foreign = requested().filter((url) => {
      const id = OF_AGENT.exec(url)?.[1]
      const owner = collectionOf('master', '/agents').items.find((agent) => agent.id === id)?.node_name
      return id !== undefined && owner !== name
    })
    t.same(foreign, [], name)
    t.same(unknown, [], name)
  }
  t.end()
})
