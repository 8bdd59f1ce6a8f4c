import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { request } from 'undici'
import { startEdge } from '../../support/edge.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('both listeners serve the OpenAPI document to signed-in users, with an entity tag and compressed', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  for (const [url, user] of [
    [`${edge.url}/openapi.json`, 'reader'],
    [`${edge.operationsUrl}/openapi.json`, 'operator'],
  ] as const) {
    const get = async (headers: Record<string, string> = {}) => {
      const response = await request(url, { headers: { authorization: edge.authorization(user), ...headers } })
      return { ...response, bytes: Buffer.from(await response.body.arrayBuffer()) }
    }
    const plain = await get()
    t.equal(plain.statusCode, 200)
    t.match(plain.headers['content-type'], /^application\/json/)
    t.match(JSON.parse(plain.bytes.toString()), { openapi: '3.1.0', paths: { '/openapi.json': {} } })
    const tag = String(plain.headers.etag)
    t.match(tag, /^"[\w-]+"$/)
    t.match(plain.headers['cache-control'], 'private, no-cache')
    const unchanged = await get({ 'if-none-match': tag })
    t.equal(unchanged.statusCode, 304)
    t.equal(unchanged.bytes.length, 0)
    const compressed = await get({ 'accept-encoding': 'gzip' })
    t.equal(compressed.headers['content-encoding'], 'gzip')
    t.ok(compressed.bytes.length * 5 < plain.bytes.length, `${compressed.bytes.length} of ${plain.bytes.length} bytes`)
    t.same(gunzipSync(compressed.bytes), plain.bytes)
    const { statusCode, body } = await request(url)
    await body.dump()
    t.equal(statusCode, 401, 'not without a sign-in')
  }
})
