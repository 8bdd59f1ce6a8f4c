import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { Problems } from '../../../src/status/problem-types.ts'
import { startEdge } from '../../support/edge.ts'
import { reloadable } from '../reload/edge.ts'

t.test('an edge starts with the default account of the vendor, serves, and warns', async (t) => {
  const account = { username: 'foo', password: 'bar' }
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: { cluster: { credentials: account } } })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  t.equal((await fetch(`${edge.url}/agents`, { headers })).status, 200)
  const lines = edge.logged.map((line) => JSON.parse(line))
  t.match(
    lines.filter(({ setting }) => setting === 'cluster.credentials'),
    [{ level: 'warn', msg: 'weak password of the account on the nodes', warning: /known default/ }],
  )
  t.notMatch(edge.logged.join(''), /"bar"/, 'no log line has the password')
})

t.test('the warning follows the configuration, without a restart', async (t) => {
  const { change, logged, operations } = await reloadable(t)
  const shown = async () => {
    const { degraded = [] } = JSON.parse(await operations('/readyz?verbose'))
    const { problems } = JSON.parse(await operations('/api/problems')) as Problems
    const reasons = (degraded as { reason: string }[]).map(({ reason }) => reason)
    return [reasons.includes('weakCredentials'), problems.some(({ kind }) => kind === 'weakCredentials')]
  }
  t.same(await shown(), [false, false])
  await change({ 'cluster.credentials.password': 'wazuh' })
  t.same(await shown(), [true, true])
  t.equal(logged('weak password of the account on the nodes').length, 1)
  await change({ 'cluster.credentials.password': 'only-for-tests' })
  t.same(await shown(), [false, false])
})
