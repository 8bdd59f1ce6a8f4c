import { readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../src/simulator/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('all but the probes is for users who may look', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: { access: { limits: { failedLogins: 3 } } },
  })
  t.teardown(() => edge.close())
  const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(edge.operationsUrl + path, { ...init, headers, redirect: 'manual' })
  const as = (user: string) => ({ authorization: edge.authorization(user) })

  t.equal((await ask('/livez')).status, 200)
  t.not((await ask('/readyz')).status, 401)
  const paths = ['/', '/console/', '/openapi.json', '/api/now', '/api/entries', '/api/requests', '/nothing/of/the/sort']
  for (const path of paths) {
    const refused = await ask(path)
    t.equal(refused.status, 401, path)
    t.match(refused.headers.get('www-authenticate'), /^Basic realm="manager-edge", charset="UTF-8", Bearer /)
    t.equal(await refused.text(), '401 Unauthorized', 'in the form of the real API')
  }
  t.match(await (await ask('/api/now', { accept: 'application/json' })).json(), { error: 901 })

  const unreadable = await ask('/api/entries/%', as('operator'))
  t.equal(unreadable.status, 400)
  t.strictSame(await unreadable.json(), { error: 900, message: 'Bad request' }, 'in the words of the edge')
  t.match(unreadable.headers.get('content-security-policy'), "default-src 'none'")

  for (const user of ['operator', 'admin']) t.equal((await ask('/openapi.json', as(user))).status, 200, user)
  const reader = await ask('/openapi.json', as('reader'))
  t.equal(reader.status, 403)
  t.match(await reader.json(), { error: 902, message: /operations:read/ })

  const issued = await fetch(`${edge.url}/security/user/authenticate`, { method: 'POST', headers: as('operator') })
  const { data } = (await issued.json()) as { data: { token: string } }
  const bearer = await ask('/api/now', { authorization: `Bearer ${data.token}` })
  t.match(await bearer.json(), { you: { name: 'operator', mayPurge: true } }, 'a token signs in as well')

  const wrong = { authorization: `Basic ${Buffer.from('operator:wrong').toString('base64')}` }
  const statuses: number[] = []
  for (let at = 0; at < 6; at++) statuses.push((await ask('/api/now', wrong)).status)
  t.equal(statuses[0], 401)
  t.equal(statuses.at(-1), 429, 'guessing is slowed down')
})

t.test('no page of another site can use the credentials that a browser sends along', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated' })
  t.teardown(() => edge.close())
  const { host } = new URL(edge.operationsUrl)
  const purge = async (headers: Record<string, string>, user = 'operator', body = '{"soft":false,"preview":true}') => {
    const all = { authorization: edge.authorization(user), 'content-type': 'application/json', ...headers }
    return (await fetch(`${edge.operationsUrl}/api/purge`, { method: 'POST', headers: all, body })).status
  }
  const own = { 'x-edge-console': '1' }
  t.equal(await purge(own), 200)
  t.equal(await purge({ ...own, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }), 200)
  t.equal(await purge({}), 403, 'without the header that a form cannot send')
  t.equal(await purge({ ...own, origin: 'https://elsewhere.example' }), 403)
  t.equal(await purge({ ...own, origin: 'null' }), 403)
  t.equal(await purge({ ...own, 'sec-fetch-site': 'cross-site' }), 403)
  t.equal(await purge({ ...own, 'content-type': 'text/plain' }), 400, 'what a form could send is not read')
  t.equal(await purge({ ...own, 'content-type': 'application/x-www-form-urlencoded' }), 400)
  t.equal(await purge(own, 'operator', '{"soft":false,"preview":true,"all":1}'), 400, 'unknown words are refused')
  for (const not of ['null', '0', '""', '"false"'])
    t.equal(await purge(own, 'operator', `{"soft":false,"preview":${not}}`), 400, `${not} is no preview, and no purge`)
  t.equal(await purge(own, 'reader'), 403)

  // Not by fetch, which writes some of these headers by itself.
  const look = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const all = { authorization: edge.authorization('operator'), ...headers }
      get(`${edge.operationsUrl}/api/now`, { headers: all }, (answer) => resolve(answer.resume().statusCode)).once(
        'error',
        reject,
      )
    })
  t.equal(await look({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }), 403)
  t.equal(await look({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }), 200, 'a link may lead here')
  const preflight = await fetch(`${edge.operationsUrl}/api/purge`, {
    method: 'OPTIONS',
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
  })
  t.notOk(preflight.ok)
  t.equal(preflight.headers.get('access-control-allow-origin'), null)
})

t.test('the live tail ends with the right to hear it', async (t) => {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated' })
  t.teardown(() => edge.close())
  const tail = (user: string) =>
    fetch(`${edge.operationsUrl}/api/requests`, { headers: { authorization: edge.authorization(user) } })
  const [gone, stays] = await Promise.all([tail('operator'), tail('admin')])
  const users = join(edge.folder, 'users')
  const lines = (await readFile(users, 'utf8')).split('\n')
  await writeFile(users, lines.filter((line) => !line.startsWith('operator:')).join('\n'))
  t.type(await gone.text(), 'string', 'it ends for a user who was taken out')
  const reader = stays.body?.getReader()
  let heard = ''
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    heard += Buffer.from(part.value).toString()
    if (heard.includes('pulse')) break
  }
  t.match(heard, 'pulse', 'others hear on')
  await reader?.cancel()
})
