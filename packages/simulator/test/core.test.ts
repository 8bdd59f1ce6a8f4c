import { get } from 'node:https'
import { connect } from 'node:net'
import t from 'tap'
import { authority, hasOpenssl } from '../../../test/unit/upstream/certificates.ts'
import { startSimulator } from '../src/index.ts'
import { start } from './ask.ts'

const JSON_TYPE = 'application/json'

t.test('answers in the envelope of a real node', async (t) => {
  const { ask } = await start(t)
  const { status, headers, text } = await ask('GET /version')
  t.equal(status, 200)
  t.equal(text, '{"error":0,"data":"v3.11.5"}')
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  t.equal(headers.get('x-powered-by'), 'Express')
  t.equal(headers.get('access-control-allow-origin'), '*')
  t.equal(headers.get('keep-alive'), 'timeout=5')
  const pretty = await ask('GET /version?pretty=false')
  t.equal(pretty.text, '{\n   "error": 0,\n   "data": "v3.11.5"\n}\n')
  t.equal(pretty.headers.get('content-type'), 'text/html; charset=utf-8')
})

t.test('authentication is first, except for preflight requests', async (t) => {
  const { ask } = await start(t)
  for (const authorization of ['', 'Bearer abc', `basic ${btoa('edge:simulated')}`, `Basic ${btoa('edge:wrong')}`]) {
    const { status, headers, text } = await ask('GET /nope', { headers: { authorization } })
    t.equal(status, 401)
    t.equal(text, '401 Unauthorized')
    t.equal(headers.get('www-authenticate'), 'Basic realm="OSSEC API"')
    t.equal(headers.get('content-type'), 'text/plain')
    t.equal(headers.get('etag'), null)
  }
  const preflight = await ask('OPTIONS /agents', { headers: { authorization: '' } })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-methods'), 'GET,HEAD,PUT,PATCH,POST,DELETE')
})

t.test('conditional requests and HEAD work as in the real API', async (t) => {
  const { ask } = await start(t)
  const first = await ask('GET /cluster/nodes')
  const etag = first.headers.get('etag') ?? ''
  t.match(etag, /^W\/"[0-9a-f]+-.{27}"$/)
  const again = await ask('GET /cluster/nodes', { headers: { 'if-none-match': etag } })
  t.equal(again.status, 304)
  t.equal(again.text, '')
  const head = await ask('HEAD /cluster/nodes')
  t.equal(head.headers.get('content-length'), String(first.text.length))
  t.equal(head.text, '')
})

t.test('paths are matched loosely', async (t) => {
  const { ask } = await start(t)
  for (const path of ['/AGENTS/001/', '/agents//001', '/agents/1', '/agents/0001']) {
    t.match((await ask(`GET ${path}`)).json, { error: 0, data: { id: '001' } }, path)
  }
  const notFound = { error: 603, message: 'The requested URL was not found on this server' }
  for (const request of ['GET //', 'GET /nope', 'PUT /version', 'DELETE /version']) {
    const { status, json } = await ask(request)
    t.equal(status, 404, request)
    t.same(json, notFound)
  }
  const undecodable = await ask('GET /agents/%zz')
  t.equal(undecodable.status, 500)
  t.equal(undecodable.json?.error, 3)
})

t.test('filters parameters with the real texts', async (t) => {
  const { ask } = await start(t)
  const refusals: readonly (readonly [string, number, string])[] = [
    ['GET /agents?limit=abc', 600, 'Param not valid. Integer expected.  Field: limit'],
    ['GET /cluster/nodes?limit=1&limit=2', 600, 'Param not valid. Integer expected.  Field: limit'],
    ['GET /agents/abc', 600, 'Param not valid. Integer expected.  Field: agent_id'],
    ['GET /agents/name/a%20b', 601, 'Param not valid. Valid characters: a-z, A-Z, 0-9, ., _, -.  Field: agent_name'],
    ['GET /agents?search=a;b', 612, 'Param not valid. Invalid characters: ; & | * ^ >.  Field: search'],
    ['GET /agents?sort=', 611, 'Param not valid. Valid characters: a-z, A-Z, 0-9, _, -, +, ,.  Field: sort'],
    ['DELETE /agents', 604, "Filter error. Missing field: You have to specified 'ids' or status."],
    ['DELETE /agents?ids=abc', 616, 'Param not valid. Valid values: array of numbers.  Field: ids'],
    [
      'GET /agents?random=1',
      604,
      'Filter error. Allowed filters: [ offset  limit  sort  search  q  status  os.platform  os.version  manager  version  node_name  older_than  group  name  ip  os.name  select ]  ',
    ],
  ]
  for (const [request, error, message] of refusals) {
    const { status, json } = await ask(request)
    t.equal(status, 400, request)
    t.same(json, { error, message })
  }
  t.match(
    (await ask('GET /version?random=1')).json,
    { error: 0 },
    'endpoints without filters ignore unknown parameters',
  )
  t.match((await ask('GET /agents?q=(status=Active,status=Pending);id>1')).json, { error: 0 })
  t.match((await ask('GET /agents?q=bad')).json, { error: 622 })
})

t.test('sends errors of the framework with 200, cut at the first colon', async (t) => {
  const { ask } = await start(t)
  const refusals: readonly (readonly [string, number, string])[] = [
    ['GET /agents/999', 1701, 'Agent does not exist'],
    ['GET /agents/000/key', 1703, 'Action not available for Manager (Agent 000)'],
    ['GET /agents?limit=1001', 1405, 'Specified limit exceeds maximum allowed (1000)'],
    ['GET /agents?select=nope', 1724, 'Not a valid select field'],
    ['GET /agents/001?select=nope', 1724, 'Not a valid select field'],
    ['GET /agents/groups/nope', 1710, 'The group does not exist'],
    ['GET /agents/groups?select=name', 1000, 'Internal error'],
    ['GET /cluster/nodes/nope', 1730, 'Node does not exist'],
    ['GET /cluster/nodes?type=bogus', 1728, 'Invalid node type'],
  ]
  for (const [request, error, message] of refusals) {
    const { status, json } = await ask(request)
    t.equal(status, 200, request)
    t.same(json, { error, message }, request)
  }
})

t.test('bodies of four media types are accepted, and no others', async (t) => {
  const { ask } = await start(t)
  const post = async (path: string, type: string, body: string) => (await ask(`POST ${path}`, { type, body })).json
  t.match(await post('/agents', 'text/plain', 'x'), { error: '607' })
  t.match(await post('/agents', 'application/json; charset=utf-8', '{}'), { error: '607' })
  t.same(await post('/agents', JSON_TYPE, '{bad'), { error: 614, message: 'Invalid request. Body is not correct.' })
  t.match(await post('/agents', JSON_TYPE, '"text"'), { error: 614 })
  t.same(await post('/agents', JSON_TYPE, '{}'), { error: 604, message: "Filter error. Missing field: 'name'" })
  t.same(await post('/agents', JSON_TYPE, '{"name":"ok","x":1}'), {
    error: 604,
    message: 'Filter error. Allowed filters: [ name  ip  force ]  ',
  })
  t.match(await post('/agents', JSON_TYPE, '{"name":"ok","ip":"999.1.1.1"}'), { error: 606 })
  t.match(await post('/agents/insert', JSON_TYPE, '{"name":"i"}'), { error: 604, message: /Missing fields/ })
  t.same(await post('/agents', JSON_TYPE, `{"name":"${'x'.repeat(103_000)}"}`), {
    error: 701,
    message: 'Size of XML file is too long',
  })
  t.match(await post('/agents/group/default', 'application/xml', '<a>'), { error: 3 })
  t.match(await post('/nope', JSON_TYPE, '{}'), { error: 603 })
  t.match(await post('/nope', 'text/plain', 'x'), { error: '607' })
})

t.test('compares the version of the app', async (t) => {
  const { ask } = await start(t)
  const version = (text: string) => ask('GET /version', { headers: { 'wazuh-app-version': text } })
  t.equal((await version('3.11.0')).status, 200)
  t.match(await version('3.11'), { status: 400, json: { error: 801 } })
  t.match(await version('3.12.0'), { status: 400, json: { error: 802 } })
})

t.test('an unknown charset ends the process, as in the real API', async (t) => {
  const { sim, ask } = await start(t)
  const deadly = { type: 'application/json; charset=foo', body: '{"name":"a"}' }
  await t.rejects(ask('POST /agents', deadly))
  t.same(sim.faults.of('master'), { apiDown: true })
  await t.rejects(ask('GET /version'))
  t.equal((await ask('GET /agents/001', { node: 'worker-1' })).status, 200, 'the cluster goes on')
})

t.test('every request to a node is recorded', async (t) => {
  const { sim, ask } = await start(t)
  await ask('POST /agents/?pretty', { node: 'worker-2', type: JSON_TYPE, body: '{"name":"new"}' })
  t.match(sim.seen, [
    { node: 'worker-2', method: 'POST', url: '/agents/?pretty', body: '{"name":"new"}', headers: { host: /127/ } },
  ])
  const socket = connect(Number(new URL(sim.nodes[0]?.url ?? '').port), '127.0.0.1')
  socket.end('GET /agents?q=id>1;id<3 HTTP/1.0\r\n\r\n')
  for await (const _ of socket);
  t.equal(sim.seen[1]?.url, '/agents?q=id>1;id<3', 'as in the request line')
  t.same(sim.thrown, [])
})

t.test('TLS is used with a certificate', async (t) => {
  if (!(await hasOpenssl())) return t.pass('there is no openssl to make one')
  const ca = await authority(t, 'simulated')
  const sim = await startSimulator({ agents: 1, tls: await ca.sign('IP:127.0.0.1') })
  t.teardown(() => sim.close())
  const url = sim.nodes[0]?.url ?? ''
  t.match(url, /^https:/)
  const status = await new Promise((resolve, reject) => {
    get(`${url}/version`, { ca: ca.cert, auth: 'edge:simulated' }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', reject)
  })
  t.equal(status, 200)
})
