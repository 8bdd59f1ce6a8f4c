/** What the operations of the cache refuse, they refuse in the form of the v4 contract, and nothing reaches a node. */
import t from 'tap'
import { bothPorts } from './both-ports.ts'

const refusals = [
  { path: '/cache?limit=0', detail: /^0 is less than the minimum of 1\. Failed validating 'minimum'/ },
  { path: '/cache?limit=100001', detail: /^100001 is greater than the maximum of 100000/ },
  { path: '/cache?offset=x', detail: /^Wrong type, expected 'integer' for query parameter 'offset'$/ },
  { path: '/cache?sort=nope', error: 1403, detail: /^Not a valid sort field: .*Fields: nope$/ },
  { path: '/cache?select=url,nope', error: 1724, detail: /^Not a valid select field: .*Fields: nope$/ },
  { path: '/cache?search=a;b', detail: /^'a;b' is not a 'search'/ },
  { path: '/cache?details=true', detail: /^Extra query parameter\(s\) details not in spec$/ },
  { path: '/cache?group=nope', detail: /^'nope' is not one of \['agents', / },
  { path: '/cache?pretty=x', detail: /^Wrong type, expected 'boolean' for query parameter 'pretty'$/ },
  { path: '/cache/explain', detail: /^Missing query parameter 'url'$/ },
  { method: 'DELETE', path: '/cache/nope', detail: /^'nope' is not one of \['agents', / },
  { method: 'DELETE', path: '/cache?endpoint=/nope', error: 604, detail: /No response of this endpoint is stored/ },
  { method: 'DELETE', path: '/cache?endpoint=v3:/version2', error: 604, detail: /No response of this endpoint/ },
  { method: 'DELETE', path: '/cache?tag=nope:x', error: 604, detail: /No stored response can have this tag/ },
  { method: 'DELETE', path: '/cache?key=a&tag=rules', error: 604, detail: /Give only one of key, endpoint and tag/ },
  { method: 'DELETE', path: '/cache', user: 'reader', status: 403, error: 4000, detail: /cache:purge/ },
  { method: 'POST', path: '/cache', status: 405, detail: /^405: Method Not Allowed$/ },
]

t.test('refusals are problems, and purge nothing', async (t) => {
  const { simulator, v4 } = await bothPorts(t, { cache: { ttl: { rules: '600s' } } })
  await v4(0, '/rules?limit=3')
  await v4(0, '/cache', { user: 'reader' })
  const before = simulator.seen.length
  for (const { method = 'GET', path, user = 'admin', status = 400, error, detail } of refusals) {
    const found = await v4(0, path, { method, user })
    t.equal(found.status, status, `${method} ${path}: ${found.text}`)
    t.equal(found.type, 'application/problem+json; charset=utf-8')
    t.match(found.body.detail, detail)
    t.equal((found.body as { error?: number }).error, error, `${method} ${path}: ${found.text}`)
  }
  t.equal(simulator.seen.length, before)
  t.match((await v4(1, '/rules?limit=3')).cache, /hit/)
})

t.test('without a token, with a password, or with an unknown one the answer is 401', async (t) => {
  const { edges } = await bothPorts(t)
  const [edge] = edges
  for (const authorization of [undefined, edge?.authorization('admin'), 'Bearer abc.def.ghi']) {
    for (const [method, path] of [['GET', '/cache'] as const, ['DELETE', '/cache'] as const]) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
      const response = await fetch(`${edge?.secondUrl}${path}`, { method, headers })
      t.equal(response.status, 401)
      t.match(await response.json(), { title: 'Unauthorized' })
    }
  }
})
