import t from 'tap'
import { startEdge } from '../../support/edge.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('the pages of the reference have the permissions, headers and errors of the listener', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const get = (path: string, user = 'operator', headers: Readonly<Record<string, string>> = {}) =>
    fetch(edge.operationsUrl + path, { headers: { authorization: edge.authorization(user), ...headers } })
  t.equal((await get('/openapi.json')).status, 200)
  t.equal((await get('/docs', 'reader')).status, 403)

  const assets = ['/docs/static/swagger-ui.css', '/docs/static/theme/edge.css', '/docs/static/unknown.css']
  const paths = ['/docs', '/docs/', '/docs/json', ...assets]
  const statuses = await Promise.all(paths.map(async (path) => (await get(path)).status))
  t.strictSame(statuses, [200, 200, 200, 200, 200, 404])

  const path = '/docs/static/swagger-ui.css'
  const whole = await get(path)
  const length = (await whole.arrayBuffer()).byteLength
  const authorization = edge.authorization('operator')
  const head = await fetch(edge.operationsUrl + path, { method: 'HEAD', headers: { authorization } })
  t.match(whole.headers.get('content-type'), /^text\/css/)
  t.equal(head.headers.get('content-length'), String(length), 'HEAD has the length of the page')
  t.equal(await head.text(), '')
  const etag = whole.headers.get('etag') ?? ''
  // Without such a header, `fetch` sends `no-cache`, which forbids a 304.
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
