import t from 'tap'
import { startEdge } from '../../support/edge.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('the reference page and the document need a sign-in with operations:read', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const get = (path: string, user?: string) =>
    fetch(edge.operationsUrl + path, user === undefined ? {} : { headers: { authorization: edge.authorization(user) } })
  const own = (page: string) => [page, `${page}/json`, `${page}/yaml`, `${page}/static/swagger-ui-bundle.js`]
  for (const path of ['/openapi.json', '/openapi-newer.json', ...own('/docs'), ...own('/docs-newer')]) {
    t.equal((await get(path)).status, 401, path)
    t.equal((await get(path, 'reader')).status, 403, path)
    t.equal((await get(path, 'operator')).status, 200, path)
  }
  for (const [path, json] of [
    ['/docs', '/openapi.json'],
    ['/docs-newer', '/openapi-newer.json'],
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
