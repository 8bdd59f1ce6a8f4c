/** What the edge says when it refuses a request: the methods of the target, the title of a problem, and no 100 Continue before. */
import t, { type Test } from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract as v4Records } from '../../../src/contracts/v4/index.ts'
import { type CodeOf, EdgeError, errorTable } from '../../../src/core/errors.ts'
import { v3Contract } from '../../../src/http/v3.ts'
import { v4Contract } from '../../../src/http/v4/contract.ts'
import { problemForm } from '../../../src/http/v4/problem.ts'
import { exchange, statuses } from '../listener/raw.ts'
import { basic, startServer, uncachedResponse } from './test-server.ts'

const CONTRACTS = {
  v3: { records: catalogue, contract: v3Contract(catalogue) },
  v4: { records: v4Records, contract: v4Contract({ catalogue: v4Records, releases: () => ({ lowest: '4.5.4' }) }) },
}

const start = (t: Test, name: keyof typeof CONTRACTS) =>
  startServer(t, () => uncachedResponse(Buffer.from('{}')), { contract: CONTRACTS[name].contract })

for (const name of ['v3', 'v4'] as const) {
  t.test(`${name} contract: Allow lists the methods of the target`, async (t) => {
    const server = await start(t, name)
    const { records } = CONTRACTS[name]
    const paths = new Set(records.filter(({ experimental }) => !experimental).map(({ path }) => path))
    for (const path of paths) {
      const own = records
        .filter((each) => each.path === path && (each.contract === 'v3' || !each.releases))
        .map(({ method }) => String(method))
      const methods = new Set(name === 'v3' && own.includes('GET') ? [...own, 'HEAD'] : own)
      const url = path.replaceAll(/:\w+|\{\w+\}/g, 'x')
      const allow = String((await server.send(url, {}, 'PURGE')).headers.allow ?? '').split(', ')
      const missing = [...methods].filter((method) => !allow.includes(method))
      t.strictSame(missing, [], `${path}: ${allow}`)
    }
    const { allow } = (await server.send('/agents', {}, 'PURGE')).headers
    t.equal(allow, name === 'v3' ? 'GET, HEAD, POST, DELETE' : 'GET, POST, DELETE')
    t.equal((await server.send('/unknown', {}, 'PURGE')).headers.allow, '')
  })
}

t.test('v4 contract: 405 names the methods of the target', async (t) => {
  const server = await start(t, 'v4')
  const { status, headers } = await server.send('/agents', {}, 'PATCH')
  t.equal(status, 405)
  t.equal(headers.allow, 'GET, POST, DELETE')
})

t.test('v4 contract: a fault of the client is no internal error', async (t) => {
  for (const [code, { status }] of Object.entries(errorTable)) {
    const { title } = JSON.parse(problemForm.bodyOf(new EdgeError(Number(code) as CodeOf<keyof typeof errorTable>)))
    t.equal(title === 'Wazuh Internal Error', status >= 500, `${code}, status ${status}: ${title}`)
  }
  t.match(problemForm.bodyOf(new EdgeError(908)), '"title":"URI Too Long"')
})

const EXPECT = 'Content-Type: application/json\r\nExpect: 100-continue\r\n'
const expecting = (line: string, headers: string) => `${line} HTTP/1.1\r\nHost: edge\r\n${EXPECT}${headers}\r\n`

t.test('100 Continue is sent when the body is read, and a response before it closes the connection', async (t) => {
  for (const name of ['v3', 'v4'] as const) {
    const { port } = await start(t, name)
    const login = 'POST /security/user/authenticate'
    const credentials = `Authorization: ${basic('alice')}\r\n`
    const [length, tooLong] = ['Content-Length: 2\r\n', 'Content-Length: 30000000\r\n']
    const refused: Readonly<Record<string, readonly [number, string]>> = {
      'no credentials': [401, expecting(login, length)],
      'wrong credentials': [401, expecting(login, `Authorization: Basic x\r\n${length}`)],
      'unknown path': [404, expecting('POST /unknown', credentials + length)],
      'too long': [name === 'v3' ? 400 : 413, expecting(login, credentials + tooLong)],
    }
    for (const [what, [status, bytes]] of Object.entries(refused)) {
      const { text, ended, reset } = await exchange(port, bytes)
      t.strictSame(statuses(text), [status], `${name}, ${what}`)
      t.match(text, /connection: close/i)
      t.ok(ended && !reset)
    }
    const body = `${expecting(login, credentials + length)}{}`
    const next = `GET /unknown HTTP/1.1\r\nHost: edge\r\n${credentials}\r\n`
    const { text } = await exchange(port, body + next, 2)
    t.strictSame(statuses(text), [100, 200, 404], `${name}: the connection stays open`)
  }
})
