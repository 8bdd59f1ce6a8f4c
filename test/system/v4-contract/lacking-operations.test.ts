/** A request for what the release of the nodes lacks is answered by the edge: the nodes get no call to a path that they lack. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { isInRelease } from '../../../src/core/node-call.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { ofRelease5 } from '../../unit/upstream/release-5-node.ts'
import { rows } from '../../unit/upstream/v4-node.ts'

// Busy cores need minutes. The suite ends a file that has no result for ten.
t.setTimeout(0)

const RELEASES = ['4.3', '4.4', '4.5', '4.6', '4.7', '4.8', '4.9', '4.10', '4.11', '4.12', '4.13', '4.14', '5.0']
const ofManager = v4Contract.filter(({ beyondSeed, target }) => !beyondSeed && target.kind !== 'edge')
const ofV3 = catalogue.filter(({ target, experimental }) => target.kind !== 'edge' && !experimental)

/** Whether the path of a call is that of a record, of which the most exact one counts. */
function recordOf(method: string, url: string) {
  const path = url.split('?')[0] ?? ''
  const found = v4Contract.filter(
    (record) => record.method === method && new RegExp(`^${record.path.replace(/:\w+/g, '[^/]+')}$`).test(path),
  )
  return found.sort((a, b) => a.path.split(':').length - b.path.split(':').length)[0]
}

async function startNode(t: Test, version: string) {
  const calls: string[] = []
  const answer = ofRelease5(rows([]), version)
  const server = createServer((incoming, response) => {
    calls.push(`${incoming.method} ${incoming.url}`)
    incoming.resume()
    answer(incoming, response)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const LOGIN = '/security/user/authenticate'
const VALUES: Readonly<Record<string, string>> = { agent_id: '001', node_id: 'master', user_id: '100', role_id: '100' }

function urlOf(path: string): string {
  return path.replace(/:(\w+)/g, (_, name: string) => VALUES[name] ?? 'global')
}

for (const release of RELEASES) {
  t.test(`release ${release}`, async (t) => {
    const version = `${release}.1`
    const { calls, url } = await startNode(t, version)
    const edge = await startEdge({
      nodes: [{ name: 'master', type: 'master', url }],
      settings: {
        listen: { contract: 'v4', secondPort: 0 },
        cluster: { layout: 'v4', experimental: true, limits: { perMinute: 0 } },
        access: { limits: { requestsPerSecond: 100_000 } },
      },
    })
    t.teardown(() => edge.close())
    const login = await fetch(`${edge.url}/security/user/authenticate?raw=true`, {
      method: ['4.3', '4.4'].includes(release) ? 'GET' : 'POST',
      headers: { authorization: edge.authorization('admin') },
    })
    const bearer = `Bearer ${await login.text()}`
    const send = async (to: string, method: string, path: string, authorization: string) => {
      const response = await request(to + urlOf(path), { method: method as 'GET', headers: { authorization } })
      return { status: response.statusCode, body: await response.body.text() }
    }
    await eventually(async () => (await send(edge.url, 'GET', '/', bearer)).body.includes(version))
    for (const { method, path, releases, replacedBy } of ofManager) {
      const { status, body } = await send(edge.url, method, path, bearer)
      const isServed = isInRelease(releases, version)
      if (isServed) t.not(status, 404, `${method} ${path}`)
      else t.ok(status === 404 || status === 405, `${method} ${path}: ${status}`)
      if (release !== '5.0' || isServed || status === 405) continue
      t.match(JSON.parse(body).title, /^Not Found: gone since release 5\.0/)
      if (replacedBy !== undefined) t.match(body, replacedBy)
    }
    const second = edge.secondUrl ?? ''
    for (const { method, path, translation } of ofV3) {
      const { status } = await send(second, method, path, edge.authorization('admin'))
      if (method === 'GET' && !isInRelease(translation?.releases, version))
        t.ok(status === 501 || status === 400, `${method} ${path}: ${status}`)
    }
    // Up to 4.4, the edge finds by its first login that nodes log in with GET. Of 4.8 it is not known which paths files have.
    const isKnownElse = (path: string) => path === LOGIN || (release === '4.8' && path.startsWith('/groups/'))
    const lacking = calls.filter((call) => {
      const [method = '', path = ''] = call.split(' ')
      if (isKnownElse(path)) return false
      return !isInRelease((recordOf(method, path) ?? { releases: { since: '9.9' } }).releases, version)
    })
    t.strictSame(lacking, [])
    t.ok(calls.length > 50, `${calls.length} calls`)
  })
}
