import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { basic, cachedResponse, repeating, startServer, uncachedResponse } from './test-server.ts'

const bytes = Buffer.from('{"error":0,"data":{"items":[],"totalItems":0}}')

async function handle(request: EdgeRequest): Promise<EdgeResponse> {
  return handleAtOnce(request)
}

function handleAtOnce({ endpoint }: EdgeRequest): EdgeResponse {
  return 'cache' in endpoint && 'group' in endpoint.cache ? cachedResponse(bytes) : uncachedResponse(bytes)
}

t.test('* and lists of names take the endpoint of several nodes, in one canonical form', async (t) => {
  const { send, requests } = await startServer(t, handle)
  const asked = async (path: string) => {
    t.equal((await send(path)).status, 200, path)
    const { endpoint, params } = requests.at(-1) as EdgeRequest
    return { path: endpoint.path, params: { ...params } }
  }
  const several = { path: '/cluster/:node_ids/info', params: { node_ids: 'master,worker-1' } }
  t.strictSame(await asked('/cluster/*/info'), { ...several, params: { node_ids: '*' } })
  t.strictSame(await asked('/cluster/%2A/info/'), { ...several, params: { node_ids: '*' } })
  t.strictSame(await asked('/cluster/worker-1,master/info'), several, 'order does not matter')
  t.strictSame(await asked('/CLUSTER/master%2Cworker-1,master/INFO'), several, 'nor do doubles and encodings')
  t.strictSame(await asked('/cluster/Worker-1,worker-1/info'), {
    ...several,
    params: { node_ids: 'Worker-1,worker-1' },
  })
  t.strictSame(await asked('/cluster/worker-1/info'), {
    path: '/cluster/:node_id/info',
    params: { node_id: 'worker-1' },
  })
  t.strictSame(await asked('/cluster/*/config/com/internal'), {
    path: '/cluster/:node_ids/config/:component/:configuration',
    params: { node_ids: '*', component: 'com', configuration: 'internal' },
  })
})

const ofOneNode = catalogue.filter(({ path }) => path.startsWith('/cluster/:node_id/'))
const filled = (path: string, nodes: string) =>
  path.replace(':node_id', nodes).replace(':component', 'com').replace(':configuration', 'internal') +
  (path.endsWith('/files') ? '?path=etc/rules/x.xml' : '')

t.test('every GET of one node exists for several nodes', async (t) => {
  const { send, requests } = await startServer(t, handle)
  for (const { path } of ofOneNode.filter(({ method }) => method === 'GET')) {
    for (const nodes of ['*', 'master,worker-1']) {
      t.equal((await send(filled(path, nodes))).status, 200, path)
      t.strictSame(requests.at(-1)?.endpoint.target, { kind: 'severalNodes', ofNode: path })
    }
  }
})

t.test('a write to several nodes is rejected, and no node is called', async (t) => {
  const { port, requests } = await startServer(t, handle)
  const writes = ofOneNode.filter(({ method }) => method !== 'GET')
  t.strictSame(
    writes.map(({ method, path }) => `${method} ${path}`),
    ['POST /cluster/:node_id/files', 'DELETE /cluster/:node_id/files', 'PUT /cluster/:node_id/restart'],
  )
  for (const { method, path } of writes) {
    for (const nodes of ['*', 'master,worker-1']) {
      const response = await fetch(`http://127.0.0.1:${port}${filled(path, nodes)}`, {
        method,
        headers: { authorization: basic('alice'), ...(method === 'POST' && { 'content-type': 'application/xml' }) },
        ...(method === 'POST' && { body: '<group name="x"><rule id="1"></rule></group>' }),
      })
      t.match(
        { status: response.status, body: await response.json() },
        { status: 400, body: { error: 601, message: /node_id$/ } },
      )
    }
  }
  t.equal(requests.length, 0)
})

t.test('a text that is neither a name nor a list of names is rejected', async (t) => {
  const { send, requests } = await startServer(t, handle)
  const rejected: Readonly<Record<string, readonly [number, number]>> = {
    '/cluster/a,,b/info': [400, 601],
    '/cluster/a,/info': [400, 601],
    '/cluster/,a/info': [400, 601],
    '/cluster/*,a/info': [400, 601],
    '/cluster/a,*/info': [400, 601],
    '/cluster/**/info': [400, 601],
    '/cluster/..,a/info': [400, 601],
    '/cluster/a,../info': [400, 601],
    '/cluster/a,b%20c/info': [400, 601],
    '/cluster/a,b%2Fc/info': [400, 601],
    '/cluster/*/nothing': [404, 603],
    '/cluster/*': [404, 603],
    '/manager/*/info': [404, 603],
    '/cluster/*/info?nonsense=1': [400, 604],
    '/cluster/*/info?limit=0': [200, 1406],
    '/cluster/*/info?limit=1001': [200, 1405],
    '/cluster/*/info?limit=x': [400, 600],
    '/cluster/*/stats?date=x': [400, 605],
    '/cluster/*/files': [400, 706],
    '/cluster/*/files?path=etc/client.keys': [400, 704],
    '/cluster/*/configuration?field=x': [400, 604],
    [`/cluster/${'a,'.repeat(5000)}b/info`]: [414, 603],
  }
  for (const [path, [status, error]] of Object.entries(rejected)) {
    const response = await send(path)
    const shown = path.slice(0, 60)
    if (path.length < 8000)
      t.strictSame([response.status, JSON.parse(String(response.body)).error], [status, error], shown)
    else t.ok(response.status >= 400, `${shown} ${response.status}`)
  }
  t.equal(requests.length, 0)
})

t.test('several nodes need the same permission as one node', async (t) => {
  const { send } = await startServer(t, handle)
  const as = async (path: string) => (await send(path, { authorization: basic('bob') })).status
  t.equal(await as('/cluster/*/info'), 200)
  for (const part of ['configuration', 'config/com/internal', 'files?path=etc/ossec.conf']) {
    t.equal(await as(`/cluster/*/${part}`), 403, part)
    t.equal(await as(`/cluster/master/${part}`), 403, part)
  }
})

t.test('a hit of several nodes is repeated, also for HEAD', async (t) => {
  const regular = await startServer(t, handleAtOnce)
  const fast = await startServer(t, repeating(handleAtOnce))
  await fast.send('/cluster/*/logs?limit=5')
  for (const method of ['GET', 'HEAD']) {
    const [one, other] = [
      await regular.send('/cluster/*/logs?limit=5', {}, method),
      await fast.send('/cluster/*/logs?limit=5', {}, method),
    ]
    t.strictSame(
      [other.status, String(other.body), other.headers.etag],
      [one.status, String(one.body), one.headers.etag],
    )
    t.match(fast.logLines.at(-1), '"/cluster/:node_ids/logs"')
  }
})
