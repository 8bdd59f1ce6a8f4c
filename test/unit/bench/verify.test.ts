import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { checkTotals, type ExpectedResponse, verified } from '../../bench/verify.ts'

const body = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(3000) }))
const refusal = Buffer.from('{"error":1405,"message":"Specified limit exceeds maximum allowed (1000)"}')

t.test('a benchmark fails if a response is another one than its case names', async (t) => {
  let answer = { status: 200, headers: {} as Record<string, string>, body }
  const server = createServer((_request, response) => {
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const run = (expected: Partial<ExpectedResponse>, work = async () => 'measured') =>
    verified({ name: 'a case', url, headers: {}, expected: { status: 200, length: body.length, ...expected } }, work)

  t.equal(await run({}), 'measured')
  await t.rejects(run({ length: body.length + 1 }), { message: /a case: 3\d{3} bytes instead of 3\d{3}/ })
  await t.rejects(run({ status: 304 }), { message: /status 200 instead of 304/ })
  await t.rejects(run({ encoding: 'gzip' }), { message: /encoding undefined instead of gzip/ })
  await t.rejects(run({ cacheStatus: /hit/ }), { message: /Cache-Status undefined/ })
  answer = { status: 200, headers: { 'content-encoding': 'gzip', 'cache-status': 'edge; hit' }, body: gzipSync(body) }
  t.equal(await run({ encoding: 'gzip', cacheStatus: /; hit/ }), 'measured')
  await t.rejects(run({ encoding: 'gzip' }), { message: /Cache-Status edge; hit instead of none/ })
  answer = { status: 200, headers: {}, body: refusal }
  await t.rejects(run({}), { message: /73 bytes instead of 3\d{3}: {"error":1405/ })
  answer = { status: 200, headers: {}, body }
  const changing = async () => {
    answer = { status: 200, headers: {}, body: refusal }
    return 'measured'
  }
  await t.rejects(run({}, changing), { message: /73 bytes/ }, 'also if only the response after the run is wrong')
})

t.test('the totals of the load generator must be those of the response', async (t) => {
  const sent = { status: 200, headers: {}, body }
  const totals = { responses: 1000, failures: 0, bytes: 1000 * (body.length + 200) }
  checkTotals('a case', totals, sent)
  t.throws(() => checkTotals('a case', { ...totals, bytes: 1000 * (73 + 200) }, sent), {
    message: /273 bytes for each/,
  })
  t.throws(() => checkTotals('a case', { ...totals, failures: 1 }, sent), {
    message: /1 of 1000 responses were different/,
  })
  t.throws(() => checkTotals('a case', { responses: 0, failures: 0, bytes: 0 }, sent), { message: /no responses/ })
})
