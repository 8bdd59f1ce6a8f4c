/** Clients that leave while some parts of a joined response were sent, and others wait for their nodes. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'

t.test('the parts that wait are not requested, those that were sent are stored, and no node has failed', async (t) => {
  const settings = {
    cluster: { discover: false, limits: { inFlight: 1 } },
    operations: { metrics: 'open' },
    cache: { snapshots: { groups: [] }, endpoints: { '/cluster/:node_id/info': '60s' } },
  }
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 1 }, { settings })
  const headers = { authorization: edge.authorization('admin') }
  const read = async (path: string) => (await fetch(edge.url + path, { headers })).json()
  const queued = async () =>
    sumOf(samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`)).text()), 'edge_node_queue')
  const calls = () => simulator.seen.filter(({ url }) => url.startsWith('/manager/info')).map(({ node }) => node)
  const isLog = ({ url }: { readonly url: string }) => url.startsWith('/manager/logs')
  await simulator.faults.set('worker-1', { delay: 1_500, only: isLog })
  const held = read('/cluster/worker-1/logs?limit=1')
  await eventually(() => simulator.seen.some(isLog))

  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1').on('error', () => undefined)
  socket.write(`GET /cluster/*/info HTTP/1.1\r\nHost: edge\r\nAuthorization: ${headers.authorization}\r\n\r\n`)
  await eventually(async () => calls().length === 2 && (await queued()) === 1)
  socket.resetAndDestroy()
  await once(socket, 'close')
  await eventually(async () => (await queued()) === 0)
  t.match(await held, { error: 0 })
  t.same(calls().sort(), ['master', 'worker-2'], 'the part that waited was not requested')

  t.match(await read('/cluster/*/info'), { error: 0, data: { totalItems: 3, failed_nodes: undefined } })
  t.same(calls().sort(), ['master', 'worker-1', 'worker-2'], 'the parts that were sent were stored')
})
