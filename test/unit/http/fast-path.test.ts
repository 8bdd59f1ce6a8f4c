import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { basic, kept, type Reply, startFront } from './front.ts'

const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(5000) }))
const small = Buffer.from('{"error":0,"data":"y"}')

async function handle({ endpoint, query }: EdgeRequest): Promise<EdgeResponse> {
  if (query.search === 'away') throw new EdgeError(920, '', { headers: { 'retry-after': '3' } })
  if (query.search === 'broken') throw new Error('nobody foresaw this')
  if (query.search === 'unkept') return { kind: 'json', status: 200, body: small, headers: { 'x-node': 'master' } }
  return kept(endpoint.path === '/agents' ? large : small)
}

/** All that a client sees but what differs from request to request. */
function seen({ status, headers, body }: Reply) {
  const { date: _1, 'x-request-id': id, ...others } = headers
  return { status, headers: others, id: typeof id, body: body.toString('latin1') }
}

t.test('both roads give the same bytes, headers and refusals', async (t) => {
  const usual = await startFront(t, handle, { fastPath: false })
  const short = await startFront(t, handle)
  const paths = [
    '/agents',
    '/AGENTS/?limit=5&pretty',
    '/agents?search=away',
    '/agents?search=broken',
    '/agents?search=unkept',
    '/agents?search=unkept&pretty',
    '/rules?offset=0',
    '/agents?limit=0',
    '/agents?nonsense=1',
    '/agents/001/key',
    '/manager/files?path=etc/lists/x',
    '/nothing/here',
  ]
  const tag = String((await usual.ask('/agents')).headers.etag)
  const variants: Record<string, string>[] = [
    {},
    { authorization: '' },
    { authorization: 'Bearer x.y.z' },
    { authorization: '', accept: 'application/json' },
    { authorization: basic('bob') },
    { 'accept-encoding': 'gzip' },
    { 'if-none-match': tag },
    { connection: 'close' },
    { 'wazuh-app-version': '3.11.0' },
    { 'wazuh-app-version': '9.0.0' },
    { 'wazuh-app-version': 'x' },
    { 'cache-control': 'no-cache' },
    { 'content-type': 'text/nonsense' },
    { expect: '100-continue' },
  ]
  await short.ask('/agents')
  for (const front of [usual, short]) for (const path of paths) await front.ask(path)
  for (const path of paths)
    for (const headers of variants)
      for (const method of ['GET', 'HEAD']) {
        const [one, other] = [await usual.ask(path, headers, method), await short.ask(path, headers, method)]
        t.same(seen(other), seen(one), `${method} ${path} ${JSON.stringify(headers)}`)
      }
  const [one, other] = [usual.asks.at(-1), short.asks.at(-1)]
  t.same({ ...other, requestId: '', signal: 0 }, { ...one, requestId: '', signal: 0 }, 'the same is asked for')
  t.equal(short.asks.length, usual.asks.length, 'and as often')
})

t.test('the short road takes no caller for another, and logs as the usual one does', async (t) => {
  const front = await startFront(t, handle)
  for (const name of ['alice', 'bob', 'alice']) {
    await front.ask('/agents', { authorization: basic(name) })
    t.equal(front.asks.at(-1)?.caller.name, name)
  }
  const wrong = await front.ask('/agents', { authorization: `Basic ${btoa('alice:bob-pw')}` })
  t.equal(wrong.status, 401)
  t.equal(front.asks.length, 3)
  const lines = front.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request')
  t.match(
    lines.map(({ caller, status, route, method }) => ({ caller, status, route, method })),
    [
      { caller: 'alice', status: 200, route: '/agents', method: 'GET' },
      { caller: 'bob', status: 200, route: '/agents', method: 'GET' },
      { caller: 'alice', status: 200, route: '/agents', method: 'GET' },
      { caller: undefined, status: 401, route: '/agents', method: 'GET' },
    ],
  )
  const names = lines.map((line) =>
    Object.keys(line)
      .filter((name) => name !== 'caller')
      .sort()
      .join(),
  )
  t.equal(new Set(names).size, 1, 'with the same fields')
})

t.test('an error on the fast path is logged with its message and its stack', async (t) => {
  let calls = 0
  const observe = () => {
    calls += 1
    if (calls === 2) throw new TypeError('the metrics failed')
  }
  const front = await startFront(t, handle, { observe })
  await front.ask('/agents')
  await front.ask('/agents')
  const line = front.logged.map((text) => JSON.parse(text)).find(({ level }) => level === 50)
  t.match(line, {
    msg: 'fast path failed',
    reqId: /^[0-9a-f-]{36}$/,
    err: { type: 'TypeError', message: 'the metrics failed', stack: /fast-path/ },
  })
})
