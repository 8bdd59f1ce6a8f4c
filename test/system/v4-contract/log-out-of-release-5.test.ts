/**
 * Release 5.0 checks tokens in two processes, each with its own cache: a log-out ends a token in one of them. A token of a
 * login right after is good. A log-out that passed the edge holds there, and a new login is good at once.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { startEdge } from '../../support/edge.ts'
import { rows, sendJson } from '../../unit/upstream/v4-node.ts'

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A master that forgets each log-out. */
async function startMaster() {
  const calls: string[] = []
  let issued = 0
  const server = createServer((incoming, response) => {
    const { method, url = '', headers } = incoming
    incoming.resume()
    if (url.startsWith('/security/user/authenticate') && method === 'POST') {
      issued += 1
      const nbf = Math.floor(Date.now() / 1000)
      const claims = { iss: 'wazuh', aud: 'Wazuh API REST', nbf, nbf_ms: Date.now(), exp: nbf + 900, sub: 'ann' }
      const token = `${encode({ alg: 'ES512', typ: 'JWT' })}.${encode({ ...claims, run_as: false, rbac_roles: [1], rbac_mode: 'white' })}.sig${issued}`
      sendJson(response, 200, { data: { token }, error: 0 })
    } else if (headers.authorization?.startsWith('Bearer ') !== true) {
      sendJson(response, 401, { title: 'Unauthorized', detail: 'No authorization token provided' })
    } else if (url === '/') {
      sendJson(response, 200, { data: { title: 'Wazuh API REST', api_version: '5.0.0' }, error: 0 })
    } else {
      calls.push(`${method} ${url} ${headers.authorization.split('.sig')[1]}`)
      rows([{ id: '001' }])(incoming, response)
    }
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  return {
    calls,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

t.test('a log-out through the edge ends the token there, and the next login is good in the same second', async (t) => {
  const master = await startMaster()
  t.teardown(() => master.close())
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: master.url }],
    settings: {
      listen: { contract: 'v4' },
      cluster: { layout: 'v4', credentials: { mode: 'passthrough', username: undefined, password: undefined } },
      access: { users: undefined, roles: undefined },
    },
  })
  t.teardown(() => edge.close())
  const send = async (method: string, path: string, authorization: string) => {
    const response = await request(edge.url + path, { method: method as 'GET', headers: { authorization } })
    return { status: response.statusCode, text: await response.body.text() }
  }
  const logIn = async () => {
    const { text } = await send('POST', '/security/user/authenticate?raw=true', `Basic ${btoa('ann:Pass-Word-1234')}`)
    return `Bearer ${text}`
  }
  const first = await logIn()
  t.equal((await send('GET', '/agents', first)).status, 200)
  t.equal((await send('DELETE', '/security/user/authenticate', first)).status, 200)
  const second = await logIn()
  t.not(second, first)
  t.equal((await send('GET', '/agents?limit=1', second)).status, 200)
  const before = master.calls.length
  for (let at = 0; at < 20; at += 1) t.equal((await send('GET', `/agents?offset=${at}`, first)).status, 401)
  t.equal(master.calls.length, before)
})
