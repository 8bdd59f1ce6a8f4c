/**
 * Users of the manager without the right for an operation cannot make the edge read a large body: they get the refusal before. With
 * `Expect: 100-continue` a client sees which comes first.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { describedBody } from '../../../src/core/endpoint-names.ts'
import { startEdge } from '../../support/edge.ts'
import { pathValues } from '../../support/sample-values.ts'

/** The v3 contract takes up to 100 KiB as fields. */
const LARGE = 90_000
const POLICIES = '/security/users/me/policies'
const isOfNodes = ({ target }: Endpoint) => target.kind !== 'edge'
const operations = v4Contract.filter((record) => describedBody(record) !== undefined && isOfNodes(record))
const v3Operations = catalogue.filter((record) => describedBody(record) !== undefined && isOfNodes(record))

/** Each user may do what one operation needs, with one object. */
const rightsOfUsers = new Map(operations.map(({ rights = [] }) => [rights.join(), rights]))
const users: Record<string, V4User> = {
  ann: { password: 'ann-pw', roles: ['administrator'] },
  nil: { password: 'nil-pw' },
}
for (const [at, rights] of [...rightsOfUsers.values()].entries()) {
  const policies = rights.map((right) => {
    const [action = '', on = ''] = right.split(' on ')
    return { actions: [action], resources: [on.split(',')[0]?.replace(/\{.*\}/, '001') ?? ''] }
  })
  users[`user${at}`] = { password: `user${at}-pw`, roles: policies as never }
}

interface Sent {
  readonly port: number
  readonly endpoint: Endpoint
  readonly authorization: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends the head of a request, and no body. Returns the first response. */
async function firstResponse({ port, endpoint, authorization, headers = { 'content-length': `${LARGE}` } }: Sent) {
  const socket = connect(port, '127.0.0.1')
  const all = {
    host: 'edge',
    authorization,
    expect: '100-continue',
    'content-type': describedBody(endpoint)?.types[0] ?? 'application/json',
    ...headers,
  }
  const filename = endpoint.path.startsWith('/lists') ? 'audit-keys' : 'local_rules.xml'
  const values: Readonly<Record<string, string>> = { ...pathValues, filename, policy_id: '1' }
  const path = endpoint.path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? '1')
  const query = Object.hasOwn(endpoint.query, 'path') ? '?path=etc/rules/local_rules.xml' : ''
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${endpoint.method} ${path}${query} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  const text = chunk.toString()
  return { status: Number(text.split(' ')[1]), body: text.slice(text.indexOf('\r\n\r\n') + 4) }
}

async function started(t: Test) {
  // The clock of the manager is late, so that it can be set forward: a token of the second of a change stays good.
  let late = 60_000
  const now = () => new Date(Date.now() - late)
  const simulator = await startSimulator({
    layout: 'v4',
    version: '4.7.0',
    workers: 1,
    agents: 3,
    now,
    v4: { users },
  })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      listen: { secondPort: 0 },
      cluster: {
        layout: 'v4',
        discover: false,
        credentials: { mode: 'passthrough', username: null, password: null },
      },
      access: { users: null, roles: null, limits: { requestsPerSecond: 1e6 } },
    },
  })
  t.teardown(() => edge.close())
  const basic = (user: string) => `Basic ${btoa(`${user}:${user}-pw`)}`
  const v4 = edge.secondUrl ?? ''
  const logIn = async (user: string) => {
    const response = await fetch(`${v4}/security/user/authenticate`, {
      method: 'POST',
      headers: { authorization: basic(user) },
    })
    const { data } = (await response.json()) as { data: { token: string } }
    return `Bearer ${data.token}`
  }
  const portOf = (url: string) => Number(new URL(url).port)
  return {
    simulator,
    nextSecond: () => {
      late -= 1000
    },
    basic,
    logIn,
    v4,
    ports: { v3: portOf(edge.url), v4: portOf(v4) },
    asked: () => simulator.seen.filter(({ url }) => url === POLICIES).length,
  }
}

t.test('each operation with a body is refused before it, for a user without the right', async (t) => {
  const { ports, logIn, asked, v4 } = await started(t)
  const nil = await logIn('nil')
  for (const endpoint of operations) {
    const name = `${endpoint.method} ${endpoint.path}`
    const { status, body } = await firstResponse({ port: ports.v4, endpoint, authorization: nil })
    t.equal(status, 403, name)
    t.match(JSON.parse(body), {
      title: 'Permission Denied',
      detail: /^Permission denied: Resource type: /,
      error: 4000,
    })
  }
  t.equal(asked(), 1, 'the manager is asked once')
  const [endpoint] = operations
  if (endpoint === undefined) return
  const coded = { 'content-length': '1000', 'content-encoding': 'gzip' }
  for (const headers of [{ 'transfer-encoding': 'chunked' }, coded])
    t.equal(
      (await firstResponse({ port: ports.v4, endpoint, authorization: nil, headers })).status,
      403,
      'unknown length',
    )
  const headers = { 'content-length': '60000' }
  const eve = await logIn('user0')
  const calls = asked()
  t.equal((await firstResponse({ port: ports.v4, endpoint, authorization: eve, headers })).status, 100, 'a small body')
  t.equal(asked(), calls, 'without a call')
  const response = await fetch(`${v4}/groups/default/configuration`, {
    method: 'PUT',
    headers: { authorization: nil, 'content-type': 'application/xml' },
    body: `<a>${'x'.repeat(LARGE)}</a>`,
  })
  t.equal(response.status, 403, 'a client that sends its body at once')
})

t.test('users with the right for one object, and administrators, send their bodies', async (t) => {
  const { ports, logIn } = await started(t)
  const ann = await logIn('ann')
  const [...keys] = rightsOfUsers.keys()
  for (const endpoint of operations) {
    const own = await logIn(`user${keys.indexOf((endpoint.rights ?? []).join())}`)
    for (const authorization of [ann, own]) {
      const { status, body } = await firstResponse({ port: ports.v4, endpoint, authorization })
      t.equal(status, 100, `${endpoint.method} ${endpoint.path}: ${body}`)
    }
  }
})

t.test('a client of the v3 contract gets the refusal in its form', async (t) => {
  const { ports, basic, asked } = await started(t)
  for (const endpoint of v3Operations) {
    const name = `${endpoint.method} ${endpoint.path}`
    const refused = await firstResponse({ port: ports.v3, endpoint, authorization: basic('nil') })
    t.equal(refused.status, 403, name)
    t.strictSame(JSON.parse(refused.body), { error: 4000, message: 'Permission denied' }, name)
    const ann = await firstResponse({ port: ports.v3, endpoint, authorization: basic('ann') })
    t.equal(ann.status, 100, `${name}: ${ann.body}`)
  }
  t.equal(asked(), 2, 'once for each user')
})

t.test('where the manager allows what no policy names, the node decides', async (t) => {
  const { ports, logIn, simulator } = await started(t)
  await fetch(`${simulator.nodes[0]?.url}/security/config`, {
    method: 'PUT',
    headers: { authorization: await logIn('ann'), 'content-type': 'application/json' },
    body: JSON.stringify({ rbac_mode: 'black' }),
  })
  const nil = await logIn('nil')
  for (const endpoint of operations) {
    const { status, body } = await firstResponse({ port: ports.v4, endpoint, authorization: nil })
    t.equal(status, 100, `${endpoint.method} ${endpoint.path}: ${body}`)
  }
})

t.test('a right that is given through the edge counts at once', async (t) => {
  const { ports, logIn, v4, nextSecond } = await started(t)
  const ann = await logIn('ann')
  const endpoint = operations.find(({ path }) => path === '/groups/:group_id/configuration')
  if (endpoint === undefined) throw new Error('no such operation')
  t.equal((await firstResponse({ port: ports.v4, endpoint, authorization: await logIn('user0') })).status, 403)
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(v4 + path, {
      method,
      headers: { authorization: ann, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    t.equal(response.status, 200, text)
    return JSON.parse(text).data.affected_items[0]
  }
  const policy = { actions: ['group:update_config'], resources: ['group:id:*'], effect: 'allow' }
  const { id } = await send('POST', '/security/policies', { name: 'configure', policy })
  const { roles } = await send('GET', '/security/users?search=user0')
  await send('POST', `/security/roles/${roles[0]}/policies?policy_ids=${id}`)
  nextSecond()
  t.equal((await firstResponse({ port: ports.v4, endpoint, authorization: await logIn('user0') })).status, 100)
})
