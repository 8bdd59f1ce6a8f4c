import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { fakeNode } from '../../unit/upstream/fake-node.ts'

t.test('a response with a header for one caller is not served to other callers', async (t) => {
  const special: Record<string, [string, string]> = {
    '/agents/001': ['set-cookie', 'session=1'],
    '/agents/002': ['authorization', 'Basic eDp5'],
    '/agents/003': ['x-else', 'nothing'],
  }
  const node = await fakeNode(t, (request, response) => {
    const [name, value] = special[request.url ?? ''] ?? ['x-else', '']
    const body = '{"error":0,"data":{"x":1}}'
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length, [name]: value })
    response.end(body)
  })
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: node.url }],
    settings: { cache: { ttl: { agents: '10m' } } },
  })
  t.teardown(() => edge.close())
  const calls = async (path: string): Promise<number> => {
    for (const user of ['admin', 'reader']) {
      const reply = await fetch(`${edge.url}${path}`, { headers: { authorization: edge.authorization(user) } })
      t.equal(reply.headers.get('set-cookie') ?? reply.headers.get('authorization'), null)
      await reply.arrayBuffer()
    }
    return node.seen.filter(({ url }) => url === path).length
  }
  t.equal(await calls('/agents/001'), 2)
  t.equal(await calls('/agents/002'), 2)
  t.equal(await calls('/agents/003'), 1)
})
