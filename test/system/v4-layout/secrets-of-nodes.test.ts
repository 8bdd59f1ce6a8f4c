/** v4 layout: a node shows the key of the cluster to all who may read. The edge does not. */
import t from 'tap'
import { v4Cluster } from './cluster.ts'

const withKey = [
  '/cluster/config',
  '/manager/configuration',
  '/manager/configuration?section=cluster',
  '/cluster/worker-1/configuration?section=cluster&field=key',
  '/manager/config/com/cluster',
  '/cluster/worker-1/config/com/cluster',
  '/manager/files?path=etc/ossec.conf',
  '/cluster/worker-1/files?path=etc/ossec.conf',
  '/cluster/*/configuration?section=cluster',
]

t.test('the key of the cluster needs the permission to read secrets, and is never stored or logged', async (t) => {
  const { simulator, edge, as, send } = await v4Cluster(t, {}, { cache: { ttl: { manager: '10m', cluster: '10m' } } })
  const { key } = (await send('/cluster/config')).data as { key: string }
  t.match(key, /^[0-9a-f]{32}$/)
  for (const path of withKey) {
    simulator.seen.length = 0
    const refused = await as('reader')(path)
    t.match(refused, { status: 403, error: 902 }, path)
    t.strictSame(simulator.seen, [], `${path}: no node is called`)
    const shown = await send(path)
    t.match(JSON.stringify(shown.data), key, path)
    t.notMatch(shown.headers.get('cache-status') ?? '', /stored|hit/, `${path} is not stored`)
  }
  t.notMatch(edge.logged.join(''), key)
})

t.test('what readers see of nodes and of the cluster has no key', async (t) => {
  const { send, as } = await v4Cluster(t)
  const { key } = (await send('/cluster/config')).data as { key: string }
  for (const path of [
    ...['/manager/info', '/manager/status', '/manager/logs?limit=1000', '/manager/stats/remoted'],
    ...['/cluster/status', '/cluster/node', '/cluster/nodes', '/cluster/healthcheck', '/cluster/*/info'],
    '/cluster/worker-1/configuration/validation',
  ]) {
    const { error, data } = await as('reader')(path)
    t.equal(error, 0, path)
    t.notMatch(JSON.stringify(data), key, path)
  }
})
