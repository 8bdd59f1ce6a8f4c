import { readFile, writeFile } from 'node:fs/promises'
import { get as httpGet } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('everything but the probes needs a user with operations:read', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: { access: { limits: { failedLogins: 3 } } },
  })
  t.teardown(() => edge.close())
  const send = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(edge.operationsUrl + path, { ...init, headers, redirect: 'manual' })
  const credentials = (user: string) => ({ authorization: edge.authorization(user) })

  t.equal((await send('/livez')).status, 200)
  t.not((await send('/readyz')).status, 401)
  const paths = ['/', '/console/', '/openapi.json', '/api/now', '/api/entries', '/api/requests', '/nothing/of/the/sort']
  for (const path of paths) {
    const refused = await send(path)
    t.equal(refused.status, 401, path)
    t.match(refused.headers.get('www-authenticate'), /^Basic realm="manager-edge", charset="UTF-8", Bearer /)
    t.equal(await refused.text(), '401 Unauthorized', 'the text of the real API')
  }
  t.match(await (await send('/api/now', { accept: 'application/json' })).json(), { error: 901 })

  const unreadable = await send('/api/entries/%', credentials('operator'))
  t.equal(unreadable.status, 400)
  t.strictSame(await unreadable.json(), { error: 900, message: 'Bad request' }, 'an error of the edge')
  t.match(unreadable.headers.get('content-security-policy'), "default-src 'none'")

  for (const user of ['operator', 'admin']) t.equal((await send('/openapi.json', credentials(user))).status, 200, user)
  const reader = await send('/openapi.json', credentials('reader'))
  t.equal(reader.status, 403)
  t.match(await reader.json(), { error: 902, message: /operations:read/ })

  const issued = await fetch(`${edge.url}/security/user/authenticate`, {
    method: 'POST',
    headers: credentials('operator'),
  })
  const { data } = (await issued.json()) as { data: { token: string } }
  const bearer = await send('/api/now', { authorization: `Bearer ${data.token}` })
  t.match(await bearer.json(), { operator: { name: 'operator', mayPurge: true } }, 'a token is accepted too')

  const wrong = { authorization: `Basic ${Buffer.from('operator:wrong').toString('base64')}` }
  const statuses: number[] = []
  for (let at = 0; at < 6; at++) statuses.push((await send('/api/now', wrong)).status)
  t.equal(statuses[0], 401)
  t.equal(statuses.at(-1), 429, 'failed logins are limited')
})

t.test('a page of another site cannot use the credentials that the browser sends', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated' })
  t.teardown(() => edge.close())
  const { host } = new URL(edge.operationsUrl)
  const purge = async (headers: Record<string, string>, user = 'operator', body = '{"soft":false,"preview":true}') => {
    const all = { authorization: edge.authorization(user), 'content-type': 'application/json', ...headers }
    return (await fetch(`${edge.operationsUrl}/api/purge`, { method: 'POST', headers: all, body })).status
  }
  const consoleHeader = { 'x-edge-console': '1' }
  t.equal(await purge(consoleHeader), 200)
  t.equal(await purge({ ...consoleHeader, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }), 200)
  t.equal(await purge({}), 403, 'without the header of the console')
  t.equal(await purge({ ...consoleHeader, origin: 'https://elsewhere.example' }), 403)
  t.equal(await purge({ ...consoleHeader, origin: 'null' }), 403)
  t.equal(await purge({ ...consoleHeader, 'sec-fetch-site': 'cross-site' }), 403)
  t.equal(await purge({ ...consoleHeader, 'content-type': 'text/plain' }), 400, 'content types of forms are refused')
  t.equal(await purge({ ...consoleHeader, 'content-type': 'application/x-www-form-urlencoded' }), 400)
  t.equal(
    await purge(consoleHeader, 'operator', '{"soft":false,"preview":true,"all":1}'),
    400,
    'unknown properties are refused',
  )
  for (const value of ['null', '0', '""', '"false"'])
    t.equal(
      await purge(consoleHeader, 'operator', `{"soft":false,"preview":${value}}`),
      400,
      `${value} is neither true nor false`,
    )
  t.equal(await purge(consoleHeader, 'reader'), 403)

  // fetch sets some of these headers itself.
  const get = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const all = { authorization: edge.authorization('operator'), ...headers }
      httpGet(`${edge.operationsUrl}/api/now`, { headers: all }, (response) =>
        resolve(response.resume().statusCode),
      ).once('error', reject)
    })
  t.equal(await get({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }), 403)
  t.equal(
    await get({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }),
    200,
    'a link from another site is allowed',
  )
  const preflight = await fetch(`${edge.operationsUrl}/api/purge`, {
    method: 'OPTIONS',
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
  })
  t.notOk(preflight.ok)
  t.equal(preflight.headers.get('access-control-allow-origin'), null)
})

t.test('the live tail ends when the user loses the right to read it', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated' })
  t.teardown(() => edge.close())
  const tail = (user: string) =>
    fetch(`${edge.operationsUrl}/api/requests`, { headers: { authorization: edge.authorization(user) } })
  const [removed, remaining] = await Promise.all([tail('operator'), tail('admin')])
  const users = join(edge.folder, 'users')
  const lines = (await readFile(users, 'utf8')).split('\n')
  await writeFile(users, lines.filter((line) => !line.startsWith('operator:')).join('\n'))
  t.type(await removed.text(), 'string', 'the stream of a removed user ends')
  const reader = remaining.body?.getReader()
  let received = ''
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    received += Buffer.from(part.value).toString()
    if (received.includes('heartbeat')) break
  }
  t.match(received, 'heartbeat', 'the streams of other users continue')
  await reader?.cancel()
})
