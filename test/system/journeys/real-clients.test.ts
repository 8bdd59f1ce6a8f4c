import t from 'tap'
import { sendRaw } from '../../support/raw.ts'
import { simulated } from '../../support/simulated.ts'

/** Calls of a shell script, Ansible and Kibana, as these clients write them. */
t.test('real clients', async (t) => {
  const settings = { access: { limits: { requestsPerSecond: 100_000 } } }
  const { simulator, edge } = await simulated(t, { workers: 2, agents: 20 }, { settings })
  const authorization = edge.authorization('admin')
  const call = async (
    method: string,
    path: string,
    options: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const answer = await fetch(`${edge.url}${path}`, {
      method,
      headers: { authorization, ...options.headers },
      ...(options.body !== undefined && { body: options.body }),
    })
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  }
  const data = async (method: string, path: string, options?: Parameters<typeof call>[2]) =>
    (JSON.parse((await call(method, path, options)).text) as { data: Record<string, unknown> }).data
  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  await t.test('the shell script: form-encoded registration, cut by colons', async (t) => {
    const answer = await call('POST', '/agents', { headers: form, body: 'name=shell-01' })
    t.match(
      answer.text,
      /^\{"error":0,"data":\{"id":"\d{3,}","key":"[A-Za-z0-9+/=]+"\}\}$/,
      'no spaces, error first, id then key',
    )
    const id = answer.text.split(':')[3]?.split('"')[1] ?? ''
    const found = await data('GET', '/agents/name/shell-01')
    t.equal(found.id, id, 'read back at once')
    t.equal(found.registerIP, '127.0.0.1', 'registered with the address of the client')
    t.match((await call('DELETE', `/agents/${id}`)).text, /"error":0/)
  })

  await t.test('Ansible: POST /agents/ with a slash and JSON, then the agent', async (t) => {
    const answer = await call('POST', '/agents/', {
      headers: { 'content-type': 'application/json' },
      body: '{"name":"ansible-01"}',
    })
    t.equal(answer.status, 200)
    const { id, key } = (JSON.parse(answer.text) as { data: { id: string; key: string } }).data
    t.match(await data('GET', `/agents/${id}`), { name: 'ansible-01', ip: '127.0.0.1' })
    t.equal((JSON.parse((await call('GET', `/agents/${id}/key`)).text) as { data: string }).data, key)
  })

  await t.test('Kibana: an agent by form, restarted at once, seen in its group', async (t) => {
    const { id } = await data('POST', '/agents', { headers: form, body: 'name=kibana-01&ip=10.1.2.3' })
    t.match((await call('PUT', `/agents/${id}/restart`)).text, /"error":0/)
    await call('PUT', '/agents/groups/kibana')
    await call('POST', '/agents/group/kibana', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ids: [id] }),
    })
    t.match((await data('GET', `/agents/${id}`)).group, ['kibana'])
    t.match(await data('GET', '/agents/groups/?limit=1000'), { items: Array, totalItems: Number })
    await call('DELETE', `/agents/group/kibana?ids=${id}`)
    t.notMatch((await data('GET', `/agents/${id}`)).group, ['kibana'])
  })

  await t.test('Kibana: page load and tables', async (t) => {
    const app = { 'wazuh-app-version': '3.11.4' }
    for (const path of [
      '/version',
      '/manager/info',
      '/agents/000',
      '/cluster/status',
      '/cluster/node',
      '/summary/agents',
      '/manager/status',
    ]) {
      const answer = await call('GET', path, { headers: app })
      t.match(JSON.parse(answer.text), { error: 0 }, path)
    }
    t.match(await data('GET', '/agents?offset=0&limit=1&q=id!=000', { headers: app }), { totalItems: Number })
    t.match(await data('GET', '/agents/?limit=500&offset=0&select=id,name&search=a', { headers: app }), {
      items: Array,
    })
    t.match(await data('GET', '/agents?limit=1&sort=-dateAdd', { headers: app }), { items: [{ id: String }] })
    t.match(await data('GET', '/syscollector/001/hotfixes?limit=15', { headers: app }), { items: Array })
    t.match(await data('GET', '/manager/logs?limit=10', { headers: app }), { items: Array })
  })

  await t.test('another version of the app is 802, an invalid version is 801', async (t) => {
    t.match(JSON.parse((await call('GET', '/agents', { headers: { 'wazuh-app-version': '3.10.2' } })).text), {
      error: 802,
    })
    t.match(JSON.parse((await call('GET', '/agents', { headers: { 'wazuh-app-version': 'new' } })).text), {
      error: 801,
    })
  })

  await t.test('the rule editor: a file is sent and read back at once', async (t) => {
    const text = '<group name="local,"><rule id="100700" level="3"><description>x</description></rule></group>'
    const path = '/manager/files?path=etc/rules/editor.xml'
    const sent = await call('POST', `${path}&overwrite=true`, {
      headers: { 'content-type': 'application/xml' },
      body: text,
    })
    t.match(sent.text, /"error":0/)
    t.match((JSON.parse((await call('GET', path)).text) as { data: string }).data, /100700/)
    t.match(await data('GET', '/rules/100700'), { totalItems: 1 })
    t.match((await call('GET', '/rules/files?download=editor.xml')).text, /^<group/, 'downloads are the file itself')
    t.match((await call('DELETE', path)).text, /"error":0/)
  })

  await t.test('pretty: indented by three spaces, with a line feed, as application/json', async (t) => {
    const answer = await call('GET', '/agents/000?pretty')
    t.match(answer.type, /^application\/json/)
    t.match(answer.text, /^\{\n {3}"error": 0,\n {3}"data": \{\n {6}"/)
    t.ok(answer.text.endsWith('}\n'))
    t.equal(JSON.stringify(JSON.parse(answer.text), null, 3), answer.text.trimEnd())
    t.match((await call('GET', '/agents/abc?pretty')).text, /^\{\n {3}"error": 600,/)
  })

  await t.test('HEAD runs its GET and sends no body', async (t) => {
    const answer = await sendRaw(
      edge.url,
      `HEAD /agents?limit=1 HTTP/1.1\r\nHost: edge\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
    )
    t.equal(answer.status, 200)
    t.equal(answer.body, '')
    t.ok(Number(answer.headers['content-length']) > 20)
  })

  await t.test('401 is text, or JSON if Accept names application/json', async (t) => {
    const text = await fetch(`${edge.url}/agents`)
    t.equal(text.status, 401)
    t.equal(await text.text(), '401 Unauthorized')
    t.match(text.headers.get('www-authenticate'), /Basic realm=.*Bearer/s)
    const named = await fetch(`${edge.url}/agents`, { headers: { accept: 'application/json' } })
    t.match(await named.json(), { error: 901, message: String })
    t.equal((await fetch(`${edge.url}/nope`)).status, 401, 'also for an unknown path')
  })

  await t.test('wait_for_complete is forwarded to the node, pretty is not', async (t) => {
    await call('GET', '/agents?limit=1&wait_for_complete&pretty', { headers: { 'cache-control': 'no-cache' } })
    const url = simulator.seen.at(-1)?.url ?? ''
    t.match(url, /wait_for_complete/)
    t.notMatch(url, /pretty/)
  })

  await t.test('a token is issued for Basic credentials, accepted as Bearer, and refused once revoked', async (t) => {
    const { token } = await data('POST', '/security/user/authenticate')
    const bearer = { authorization: `Bearer ${token}` }
    t.equal((await call('GET', '/agents?limit=1', { headers: bearer })).status, 200)
    t.equal((await call('DELETE', '/security/user/authenticate', { headers: bearer })).status, 200)
    t.equal((await call('GET', '/agents?limit=1', { headers: bearer })).status, 401)
  })

  await t.test('roles: a reader reads, does not write, and sees no secrets', async (t) => {
    const reader = { authorization: edge.authorization('reader') }
    t.equal((await call('GET', '/agents', { headers: reader })).status, 200)
    for (const [method, path] of [
      ['GET', '/agents/001/key'],
      ['GET', '/cluster/config'],
      ['DELETE', '/agents/001'],
      ['PUT', '/cluster/restart'],
    ]) {
      const answer = await call(method ?? '', path ?? '', { headers: reader })
      t.equal(answer.status, 403, `${method} ${path}`)
      t.match(JSON.parse(answer.text), { error: 902, message: /Permission needed: [a-z-]+:[a-z]+/ })
    }
  })

  await t.test('the cache endpoints have the shapes of the real API', async (t) => {
    await call('GET', '/agents/000')
    const index = await data('GET', '/cache')
    t.match(index, { all: [/^\/agents/], groups: { agents: Array } })
    t.strictSame(Object.keys(await data('DELETE', '/cache/nope')), ['all', 'groups'], 'an unknown group is no error')
    t.strictSame(await data('DELETE', '/cache'), { all: [], groups: {} })
    t.match(await data('GET', '/cache/config'), {
      debug: false,
      defaultDuration: Number,
      enabled: true,
      redisClient: false,
    })
  })
})
