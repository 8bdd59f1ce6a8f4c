import t from 'tap'
import { operationsPlugin } from '../../../packages/reference/server/index.ts'
import { openApiDocument, type Server } from '../../../packages/reference/src/document.ts'
import { createOperationsListener } from '../../../src/admin/listener.ts'
import { version } from '../../../src/app/process.ts'
import { readDescriptions } from '../../../src/app/reference.ts'
import type { Config } from '../../../src/config/schema.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { startEdge } from '../../support/edge.ts'
import { edgeRequest } from '../../support/edge-requests.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('the reference page and the document need a sign-in with operations:read', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const get = (path: string, user?: string) =>
    fetch(edge.operationsUrl + path, user === undefined ? {} : { headers: { authorization: edge.authorization(user) } })
  const own = (page: string) => [page, `${page}/json`, `${page}/yaml`, `${page}/static/swagger-ui-bundle.js`]
  for (const path of ['/openapi.json', '/openapi-v4.json', ...own('/docs'), ...own('/docs-v4')]) {
    t.equal((await get(path)).status, 401, path)
    t.equal((await get(path, 'reader')).status, 403, path)
    t.equal((await get(path, 'operator')).status, 200, path)
  }
  for (const [path, json] of [
    ['/docs', '/openapi.json'],
    ['/docs-v4', '/openapi-v4.json'],
  ] as const) {
    const page = await get(path, 'operator')
    const policy = page.headers.get('content-security-policy')
    t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
    t.notMatch(policy, /unsafe|\*|https?:/)
    t.notMatch(await page.text(), /<script>|<style|style=|https?:/, 'no inline script or style, no other host')
    const document = await (await get(json, 'operator')).text()
    t.equal(await (await get(`${path}/json`, 'operator')).text(), document, 'the page shows the same document')
  }
})

t.test('the document is that of the records, with the address of the port for clients', async (t) => {
  const edge = await startEdge({ nodes, settings: { listen: { hosts: ['edge.example.org', '127.0.0.1'] } } })
  t.teardown(() => edge.close())
  const served = await fetch(`${edge.operationsUrl}/openapi.json`, {
    headers: { authorization: edge.authorization('operator') },
  })
  const document = (await served.json()) as { readonly servers: readonly [Server] }
  const written = openApiDocument(catalogue, { version, server: document.servers[0] })
  t.strictSame(document, JSON.parse(JSON.stringify(written)))
  t.match(document.servers, [{ url: 'http://{host}:0', variables: { host: { default: 'edge.example.org' } } }])
})

t.test('an installation without the reference has no such paths', async (t) => {
  const documents = readDescriptions({} as Config['listen'], undefined)
  const app = await createOperationsListener({
    ready: () => ({ ok: true, reasons: [] }),
    degradations: () => [],
    log: { error: (_fields, message) => t.fail(message) },
    openParts: [async (app) => void (await app.register(operationsPlugin, { documents, folder: undefined }))],
  })
  for (const path of ['/openapi.json', '/docs', '/docs/json', '/docs/static/swagger-ui.css'])
    t.match((await app.inject(path)).json(), { error: 603 }, path)
  await t.rejects(async () => documents.v3.handler(edgeRequest('GET /openapi.json')), { code: 603 }, 'for clients')
})
