import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { registerLatePages } from '../../../src/admin/late-pages.ts'
import { createOperationsListener } from '../../../src/admin/listener.ts'
import { startEdge } from '../../support/edge.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

/** Whether this process has loaded the package that serves files, which is not bundled. */
function servesFiles(): boolean {
  return Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/@fastify/static/'))
}

async function listenerWith(register: (pages: FastifyInstance) => Promise<void>) {
  const logged: object[] = []
  const app = await createOperationsListener({
    ready: () => ({ ok: true, reasons: [] }),
    degradations: () => [],
    log: { error: (fields) => void logged.push(fields) },
    openParts: [(app) => registerLatePages(app, ['/late', '/late/*'], register)],
  })
  return { app, logged }
}

t.test('the plugins of the pages are loaded at the first request, and not before', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const get = (path: string, user = 'operator', headers: Readonly<Record<string, string>> = {}) =>
    fetch(edge.operationsUrl + path, { headers: { authorization: edge.authorization(user), ...headers } })
  t.equal((await get('/openapi.json')).status, 200)
  t.equal((await get('/docs', 'reader')).status, 403)
  t.notOk(servesFiles(), 'neither for the document nor for a request without permission')

  const assets = ['/docs/static/swagger-ui.css', '/docs/static/theme/edge.css', '/docs/static/unknown.css']
  const paths = ['/docs', '/docs/', '/docs/json', ...assets]
  const statuses = await Promise.all(paths.map(async (path) => (await get(path)).status))
  t.strictSame(statuses, [200, 200, 200, 200, 200, 404], 'the first requests, at the same time')
  t.ok(servesFiles())

  const path = '/docs/static/swagger-ui.css'
  const whole = await get(path)
  const length = (await whole.arrayBuffer()).byteLength
  const authorization = edge.authorization('operator')
  const head = await fetch(edge.operationsUrl + path, { method: 'HEAD', headers: { authorization } })
  t.match(whole.headers.get('content-type'), /^text\/css/)
  t.equal(head.headers.get('content-length'), String(length), 'HEAD has the length of the page')
  t.equal(await head.text(), '')
  const etag = whole.headers.get('etag') ?? ''
  // Without a header of its own, `fetch` sends `no-cache`, which forbids a 304.
  const unchanged = await get(path, 'operator', { 'if-none-match': etag, 'cache-control': 'max-age=0' })
  t.strictSame([unchanged.status, unchanged.headers.get('content-length')], [304, null])
  const part = await get(path, 'operator', { range: 'bytes=0-9' })
  t.strictSame([part.status, (await part.text()).length], [206, 10])
  for (const { headers } of [whole, head, unchanged, part]) {
    t.match(headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; /)
    t.equal(headers.get('x-content-type-options'), 'nosniff', 'the headers of the listener')
    t.ok(headers.get('x-request-id'))
  }
  const unknown = await get('/docs/static/unknown.css')
  t.equal(unknown.status, 404)
  t.match(await unknown.json(), { error: 603 }, 'an unknown page has the error of the listener')
})

t.test('requests at the same time load the plugins once, and closing the listener closes them', async (t) => {
  let loads = 0
  let closed = 0
  const { app } = await listenerWith(async (pages) => {
    loads += 1
    pages.addHook('onClose', async () => {
      closed += 1
    })
    pages.get('/late', async () => 'page')
  })
  const responses = await Promise.all([1, 2, 3].map(() => app.inject('/late')))
  t.strictSame(
    responses.map(({ body }) => body),
    ['page', 'page', 'page'],
  )
  t.equal(loads, 1)
  await app.close()
  t.equal(closed, 1)
})

t.test('a load that fails is an error of the listener, and the next request tries again', async (t) => {
  const cause = new Error('file is missing')
  let loads = 0
  const { app, logged } = await listenerWith(async (pages) => {
    loads += 1
    if (loads === 1) throw cause
    pages.get('/late', async () => 'page')
  })
  const failed = await app.inject('/late')
  t.equal(failed.statusCode, 500)
  t.match(failed.json(), { error: 949 })
  t.strictSame(logged, [{ err: cause }])
  t.equal((await app.inject('/late')).body, 'page')
  await app.close()
})

t.test('a page that fails is an error of the listener', async (t) => {
  const cause = new Error('disk')
  const { app, logged } = await listenerWith(async (pages) => {
    pages.get('/late/broken', async () => {
      throw cause
    })
    pages.get('/late/refused', async () => {
      throw Object.assign(new Error('range'), { statusCode: 416 })
    })
  })
  const failed = await app.inject('/late/broken')
  t.equal(failed.statusCode, 500)
  t.match(failed.json(), { error: 949 })
  t.match(logged, [{ err: cause }], 'the log has the cause')
  t.match((await app.inject('/late/refused')).json(), { error: 900 })
  t.equal(logged.length, 1, 'a refusal is not logged')
  await app.close()
})
