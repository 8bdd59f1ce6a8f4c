/** However many calls are late at once, none of them adds a listener to what they share. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, fakeNode, get, limits } from './fake-node.ts'

/** Node.js warns of the eleventh listener for an event. */
const CALLS = 12

t.test('many late calls cause no warning of a leak', async (t) => {
  const warnings: string[] = []
  const warn = ({ message }: Error) => void warnings.push(message)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const answers: (() => void)[] = []
  const node = await fakeNode(t, (_, response) => void answers.push(() => response.writeHead(204).end()))
  const cluster = clusterOf(t, node.url, { limits: { ...limits, inFlight: CALLS } })
  const calls = Array.from({ length: CALLS }, (_, at) => cluster.call(get(`/agents/${at}`, { timeout: 500 })))
  for (const result of await Promise.all(calls)) t.match(result, { ok: false, fault: 'timeout', sent: true })
  t.equal(cluster.status()[0]?.inFlight, CALLS)
  for (const answer of answers) answer()
  await eventually(() => cluster.status()[0]?.inFlight === 0)
  t.strictSame(warnings, [])
})
