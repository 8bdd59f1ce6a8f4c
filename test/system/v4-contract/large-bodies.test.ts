/** The greatest body of a release 4.x, which is that of all operations, and of a release 3.x. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const PASSWORD = 'only-for-tests'

t.test('a bulk of events as long as a node takes it is passed on, and a longer body is refused', async (t) => {
  const simulator = await startSimulator({ password: PASSWORD, workers: 0, layout: 'v4', version: '4.14.7' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    settings: { listen: { contract: 'v4' }, cluster: { layout: 'v4' } },
  })
  t.teardown(() => edge.close())
  const { body } = await post('/security/user/authenticate', {}, edge.authorization('admin'))
  const token = `Bearer ${(body as { data: { token: string } }).data.token}`
  async function post(path: string, sent: object, authorization: string) {
    const response = await fetch(edge.url + path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    return { status: response.status, body: (await response.json()) as { readonly title?: string } }
  }
  const eventsOf = (bytes: number) => ({ events: Array.from({ length: 100 }, () => 'e'.repeat(bytes / 100)) })
  const before = simulator.seen.length
  for (const bytes of [100_000, 500_000, 9_000_000]) {
    const { status } = await post('/events', eventsOf(bytes), token)
    t.equal(status, 200, `${bytes} bytes`)
  }
  t.equal(simulator.seen.length - before, 3)
  const long = await post('/events', eventsOf(10_500_000), token)
  t.equal(long.status, 413)
  t.equal(long.body.title, 'Request Entity Too Large')
  t.equal(simulator.seen.length - before, 3, 'it reached no node')
})
