/** An incident of two replicas: what the API, the history and the webhook show of it. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { History, IncidentNotice, Incidents } from '../../../src/admin/console/history-types.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { SIMULATED_PASSWORD } from './edge.ts'

t.test('two replicas notify once of the begin and once of the end', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const simulator = await startSimulator({ agents: 10, workers: 1 })
  t.teardown(() => simulator.close())
  const notices: IncidentNotice[] = []
  const receiver = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    notices.push(JSON.parse(text))
    response.end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const start = (name: string) =>
    startEdge({
      nodes: simulator.nodes,
      password: SIMULATED_PASSWORD,
      settings: { cache: { redis: { url: redis.url } }, replica: { name }, operations: { webhook: { url } } },
    })
  const edges = [await start('one'), await start('two')]
  for (const edge of edges) t.teardown(() => edge.close())
  const read = async <Body>(edge: (typeof edges)[0], path: string): Promise<Body> => {
    const headers = { authorization: edge.authorization('operator') }
    return (await (await fetch(`${edge.operationsUrl}${path}`, { headers })).json()) as Body
  }
  const incidentsOf = async (edge: (typeof edges)[0]) => (await read<Incidents>(edge, '/api/incidents')).incidents
  const sendToBoth = async () => {
    for (const edge of edges) {
      const headers = { authorization: edge.authorization('reader') }
      await (await fetch(`${edge.url}/cluster/worker-1/info`, { headers })).arrayBuffer()
    }
  }

  t.strictSame(await Promise.all(edges.map(incidentsOf)), [[], []], 'none at the start')
  await simulator.faults.set('worker-1', { nodeDown: true })
  await eventually(async () => {
    await sendToBoth()
    return notices.length > 0
  }, 60_000)
  t.match(notices, [{ event: 'begin', text: /^Since \d\d:\d\d:\d\d UTC: worker-1 is down\./ }])
  await eventually(async () => {
    await sendToBoth()
    const all = await Promise.all(edges.map(incidentsOf))
    return all.every(([incident]) => incident?.replicas.length === 2)
  }, 60_000)
  const [open] = await incidentsOf(edges[0] as (typeof edges)[0])
  t.match(open, { problems: [{ kind: 'nodeUnreachable' }], callers: [{ name: 'reader' }] })
  t.notOk(open?.until)
  t.ok((open?.failed ?? 0) > 0)

  await simulator.faults.clear()
  await eventually(async () => notices.length > 1, 90_000)
  t.match(notices[1], { event: 'end', text: /^From .* to .* UTC: worker-1 is down\..*most affected: reader\.$/ })
  for (const edge of edges) {
    const [over, ...others] = await incidentsOf(edge)
    t.ok(over?.until)
    t.strictSame(others, [])
    const { events } = await read<History>(edge, '/api/history?range=5m')
    t.ok(events.some(({ kind, text }) => kind === 'incident' && text?.includes('worker-1')))
  }
  const later = await start('three')
  t.teardown(() => later.close())
  t.equal((await incidentsOf(later)).length, 1, 'a replica that starts later lists it')
  t.strictSame(
    notices.map(({ event }) => event),
    ['begin', 'end'],
  )
  const refused = await fetch(`${later.operationsUrl}/api/incidents`)
  t.equal(refused.status, 401)
})
