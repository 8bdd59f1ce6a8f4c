/** A value in another case has the response and the cache key of the value in lower case. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const PASSWORD = 'only-for-tests'
const PAIRS: readonly (readonly [canonical: string, other: string])[] = [
  ['/agents?status=active', '/agents?status=AcTiVe'],
  ['/rules?status=enabled&limit=3', '/rules?status=ENABLED&limit=3'],
  ['/manager/logs?level=error', '/manager/logs?level=ERROR'],
  ['/rules/requirement/pci_dss', '/rules/requirement/PCI_DSS'],
]

t.test('one response and one key, as the node receives the value in lower case', async (t) => {
  const simulator = await startSimulator({
    layout: 'v4',
    version: '4.14.7',
    workers: 0,
    agents: 6,
    password: PASSWORD,
  })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: PASSWORD,
    settings: { listen: { contract: 'v4' }, cluster: { layout: 'v4' }, cache: { snapshots: { groups: [] } } },
  })
  t.teardown(() => edge.close())
  const login = await fetch(`${edge.url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin') },
  })
  const headers = { authorization: `Bearer ${await login.text()}` }
  const ask = async (url: string) => {
    const response = await fetch(edge.url + url, { headers })
    return { status: response.status, cache: response.headers.get('cache-status') ?? '', text: await response.text() }
  }
  const keyOf = async (url: string) => {
    const { text } = await ask(`/cache/explain?url=${encodeURIComponent(url)}`)
    return (JSON.parse(text) as { data: { affected_items: { key: string }[] } }).data.affected_items[0]?.key
  }
  for (const [canonical, other] of PAIRS) {
    const first = await ask(other)
    t.equal(first.status, 200, other)
    const again = await ask(canonical)
    t.equal(again.text, first.text, canonical)
    t.match(again.cache, /; hit/, canonical)
    t.equal(await keyOf(other), await keyOf(canonical), other)
  }
  const paths = simulator.seen.map((request) => JSON.stringify(request))
  for (const text of ['AcTiVe', 'ENABLED', 'ERROR', 'PCI_DSS'])
    t.notOk(
      paths.some((path) => path.includes(text)),
      text,
    )
})
