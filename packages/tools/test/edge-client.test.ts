import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createEdgeClient, withOperations } from '../src/commands/edge-client.ts'

const PASSWORD = 'Basic cGFzc3dvcmQ='

/** Serves the v4 contract: issues one token after another, and accepts the latest one until `endToken`. */
async function startEdge(t: Test) {
  const [logIns, accepted] = [[] as string[], [] as string[]]
  let valid = ''
  const server = createServer((request, response) => {
    const { authorization = '' } = request.headers
    if (request.url?.startsWith('/security/user/authenticate')) {
      logIns.push(authorization)
      valid = `token-${logIns.length}`
      return void response.end(valid)
    }
    if (authorization !== `Bearer ${valid}`) return void response.writeHead(401).end('{}')
    accepted.push(`${request.method} ${authorization}`)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const endToken = () => {
    valid = ''
  }
  return { url, logIns, accepted, endToken }
}

t.test('a client of the v4 contract logs in once, and again when its token has ended', async (t) => {
  const { url, logIns, accepted, endToken } = await startEdge(t)
  const client = createEdgeClient({ url, authorization: PASSWORD, contract: 'v4' })
  t.teardown(() => client.close())
  const read = () => client.getText('/agents')
  await Promise.all([read(), read(), read()])
  t.strictSame(logIns, [PASSWORD])
  endToken()
  const responses = await Promise.all([read(), read(), client.getText('/groups', { method: 'POST' })])
  t.strictSame(
    responses.map(({ status }) => status),
    [200, 200, 200],
  )
  t.strictSame(logIns, [PASSWORD, PASSWORD], 'concurrent requests share a log-in')
  t.equal(accepted.filter((line) => line === 'POST Bearer token-2').length, 1)
})

t.test('a token and the v3 contract need no log-in', async (t) => {
  const { url, logIns } = await startEdge(t)
  for (const options of [{ authorization: 'Bearer other', contract: 'v4' as const }, { authorization: PASSWORD }]) {
    const client = createEdgeClient({ url, ...options })
    t.teardown(() => client.close())
    t.match(await client.getText('/agents'), { status: 401 })
  }
  t.strictSame(logIns, [])
})

t.test('https instead of http is reported in words', async (t) => {
  const { url } = await startEdge(t)
  const tokenFile = join(t.testdir({ token: 'token' }), 'token')
  await t.rejects(
    withOperations({ operations: `https://${url.host}`, tokenFile }, (operations) => operations.read('/api/problems')),
    {
      message: `https://${url.host} cannot be reached: the server speaks no TLS there; check whether the URL must begin with http:// or https://`,
    },
  )
})
