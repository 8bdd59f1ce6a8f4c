import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

for (const distribution of ['edge', 'manager'] as const) {
  t.test(`mode ${distribution}: a requested agent is found although it is newer than the owner table`, async (t) => {
    const agents = [{ id: '001', node_name: 'm', status: 'Active' }]
    const node = await fakeNode(t, (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://node')
      const ids = searchParams.get('q')?.replaceAll('id=', '').split(',')
      const rows = pathname === '/agents' ? agents.filter(({ id }) => ids?.includes(id) ?? true) : [{ name: 'it' }]
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
      // A node without distribution returns this error under its name.
      const isCluster = pathname.startsWith('/cluster/')
      const body = isCluster
        ? { error: 1000, message: '' }
        : { error: 0, data: { items: rows, totalItems: rows.length } }
      response.end(JSON.stringify(body))
    })
    const edge = await startEdge({
      nodes: [{ name: 'm', type: 'master', url: node.url }],
      settings: { cluster: { distribution, discover: false }, cache: { ttl: { agents: '60s' } } },
    })
    t.teardown(() => edge.close())
    const rowsOf = async (ids: string) => {
      const response = await fetch(`${edge.url}/experimental/syscollector/packages?agent_id=${ids}`, {
        headers: { authorization: edge.authorization('admin') },
      })
      const { data } = (await response.json()) as { data: { items: unknown[] } }
      return data.items
    }
    t.strictSame(await rowsOf('001'), [{ name: 'it', agent_id: '001' }])
    t.strictSame(await rowsOf('2'), [])
    agents.push({ id: '002', node_name: 'm', status: 'Active' })
    t.strictSame(await rowsOf('2,3'), [{ name: 'it', agent_id: '002' }])
  })
}
