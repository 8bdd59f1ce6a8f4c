/** `cluster.layout: auto`: how a node shows its layout. The answers are those of real nodes to `GET /`. */
import type { OutgoingHttpHeaders } from 'node:http'
import t from 'tap'
import { clusterOf, fakeNode } from './fake-node.ts'

type Row = readonly [name: string, status: number, headers: OutgoingHttpHeaders, body: string]

const problem = { 'content-type': 'application/problem+json; charset=utf-8' }
const json = { 'content-type': 'application/json; charset=utf-8' }

const v3: readonly Row[] = [
  [
    'it asks for credentials',
    401,
    { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="OSSEC API"' },
    '401 Unauthorized',
  ],
  [
    'it needs no credentials',
    200,
    json,
    '{"error":0,"data":{"msg":"Welcome to Wazuh HIDS API","api_version":"v3.11.5","hostname":"master"}}',
  ],
]

const v4: readonly Row[] = [
  ['it asks for a token', 401, problem, '{"title": "Unauthorized", "detail": "No authorization token provided"}'],
  [
    'it answers',
    200,
    json,
    '{"data": {"title": "Wazuh API REST", "api_version": "4.5.4", "revision": 40510, "hostname": "master"}, "error": 0}',
  ],
  [
    'it is starting',
    400,
    problem,
    '{"title": "Bad Request", "detail": "Some Wazuh daemons are not ready yet", "error": 1017}',
  ],
  [
    'it has lost its master',
    400,
    problem,
    '{"title": "Wazuh Cluster Error", "detail": "Worker node is not connected to master", "error": 3023}',
  ],
  ['it blocks the address', 403, problem, '{"title": "Permission Denied", "detail": "…", "error": 6000}'],
  ['it is at its request limit', 429, problem, '{"title": "Too Many Requests", "detail": "…", "error": 6001}'],
]

const neither: readonly Row[] = [
  ['another server that asks for credentials', 401, { 'www-authenticate': 'Basic realm="router"' }, ''],
  ['a page', 200, { 'content-type': 'text/html' }, '<html></html>'],
  ['JSON of another API', 200, json, '{"status":"ok"}'],
  ['an error of a proxy', 502, { 'content-type': 'text/html' }, '<html></html>'],
]

for (const [layout, rows] of [
  ['v3', v3],
  ['v4', v4],
  [undefined, neither],
] as const) {
  for (const [name, status, headers, body] of rows) {
    t.test(`a node shows its layout: ${layout ?? 'neither'}, ${name}`, async (t) => {
      const { url, seen } = await fakeNode(t, (_, response) => {
        response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
      })
      const cluster = clusterOf(t, url, { layout: 'auto' })
      await cluster.start()
      t.equal(cluster.view.layoutOf('master'), layout)
      t.equal(cluster.status()[0]?.layout, layout)
      t.equal(`${seen[0]?.method} ${seen[0]?.url}`, 'GET /')
    })
  }
}
