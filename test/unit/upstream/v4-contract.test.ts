/** What the edge reads of responses of the v4 contract, whose bytes it passes on. */
import t from 'tap'
import { v4Contract as records } from '../../../src/contracts/v4/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import { v4Contract } from '../../../src/layouts/v4-contract.ts'
import { viewOfMaster } from '../../support/cluster-view.ts'
import { edgeRead, edgeWrite } from '../../support/edge-requests.ts'
import { measureBestRun } from '../../support/event-loop.ts'

function requestOf(method: string, path: string): EdgeRequest {
  const record = records.find((each) => each.method === method && each.path === path)
  if (record === undefined) throw new Error(`no record ${method} ${path}`)
  return record.method === 'GET' ? edgeRead(record) : edgeWrite(record)
}

const read = requestOf('GET', '/agents')
const write = requestOf('DELETE', '/agents')

/** Returns the error number of the response, or why the edge cannot read it. */
async function numberOf(request: EdgeRequest, body: Buffer, status = 200): Promise<number | string> {
  const type = status === 200 ? 'application/json' : 'application/problem+json'
  const response = { node: 'master', status, type, body }
  const tools = { call: async () => ({ ok: true, response }) as const, timeout: 1000, master: 'master' }
  const view = viewOfMaster()
  const result = await v4Contract.ask(request, { node: 'master', path: request.endpoint.path }, { ...tools, view })
  if (!result.ok) throw new Error(result.reason)
  const { translated } = result
  if (!translated.ok) return translated.reason
  if (translated.response.kind !== 'envelope') throw new Error('a file')
  t.equal(translated.response.body, body, 'the bytes of the node')
  return translated.response.errorNumber
}

function bodyOf(error: number, failed: unknown, rows: readonly unknown[] = []): Buffer {
  return Buffer.from(JSON.stringify({ data: { affected_items: rows, failed_items: failed }, message: 'x', error }))
}

const failure = (code: unknown) => ({ error: { code, message: 'x' }, id: ['001'] })

t.test('the error of a summary is that of an item', async (t) => {
  for (const [title, request, body, expected] of [
    ['no failure', read, bodyOf(0, []), 0],
    ['all failed', read, bodyOf(1, [failure(1701)]), 1701],
    ['a read of which some failed', read, bodyOf(2, [failure(1701)]), 1701],
    ['a write of which some failed', write, bodyOf(2, [failure(1701)]), 0],
    ['a write of which all failed', write, bodyOf(1, [failure(1731), failure(1701)]), 1731],
    ['a node failed', write, bodyOf(2, [failure(1731), failure(3021)]), 3021],
    ['items without a code', read, bodyOf(1, [failure('x'), {}, null]), 1000],
    ['no items', read, bodyOf(1, []), 1000],
    ['no list', read, bodyOf(1, { error: 1701 }), 1000],
    [
      'two lists',
      read,
      Buffer.from('{"data":{"failed_items":[],"failed_items":[]},"error":1}'),
      'the member failed_items twice',
    ],
  ] as const) {
    t.equal(await numberOf(request, body), expected, title)
  }
})

t.test('a problem has the number of the node, or its status', async (t) => {
  const problem = (value: unknown) => numberOf(read, Buffer.from(JSON.stringify(value)), 400)
  t.equal(await problem({ title: 'x', error: 1701 }), 1701)
  t.equal(await problem({ title: 'x' }), 400)
  t.equal(await problem({ error: 1701 }), 'the problem has no title')
  t.equal(await numberOf(read, Buffer.from('{'), 400), 'the problem has no title')
  t.equal(await problem({ title: 'x', detail: 'x'.repeat(1024 * 1024) }), 'the problem has no title', 'too long')
})

t.test('a request line that no node accepts is error 908, and nothing is sent', async (t) => {
  const query = { search: 'ä'.repeat(1400) }
  await t.rejects(numberOf({ ...read, query }, bodyOf(0, [])), { code: 908, status: 414 })
})

t.test('100,000 rows of which one failed do not occupy the event loop', async (t) => {
  const rows = Array.from({ length: 100_000 }, (_, id) => ({
    id,
    name: `agent-${id}`,
    status: 'active',
    ip: '10.0.0.1',
  }))
  const body = bodyOf(2, [failure(1701)], rows)
  const limitMs = 15
  const longest = await measureBestRun(async () => t.equal(await numberOf(read, body), 1701), limitMs)
  t.ok(longest < limitMs, `${longest.toFixed(1)} ms`)
})
