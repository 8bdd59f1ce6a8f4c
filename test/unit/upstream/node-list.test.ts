/** The list of nodes in responses of the master. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseNodeList, parseWholeNodeList } from '../../../src/upstream/topology.ts'
import { recorded } from '../layouts/v4/recorded.ts'

const nodes = [
  { name: 'master', type: 'master', version: '4.5.4' },
  { name: 'worker-1', type: 'worker', version: '4.5.4' },
  { name: 'worker-2', type: 'worker', version: '4.5.4' },
]
const bodyOf = (call: string) => recorded(call).body as Buffer
const v4 = bodyOf('GET /cluster/nodes')
const v3 = Buffer.from(JSON.stringify({ error: 0, data: { items: nodes, totalItems: 3 } }))

for (const [layout, body] of Object.entries({ v3, v4 })) {
  t.test(`a list of the ${layout} layout has all nodes`, async (t) => {
    t.strictSame(parseNodeList(body), nodes)
    t.strictSame(parseWholeNodeList(body), nodes)
  })
}

t.test('a page of the v4 layout is not the whole list', async (t) => {
  t.equal(parseWholeNodeList(bodyOf('GET /cluster/nodes?limit=1')), undefined)
})

t.test('a list without the master, which a caller without permission gets, is no list', async (t) => {
  const denied = readFileSync(new URL('../../contract/exchanges/v4-layout.jsonl', import.meta.url), 'utf8')
    .split('\n')
    .map((line) => (line === '' ? undefined : JSON.parse(line)))
    .find((exchange) => exchange?.user === 'nobody' && exchange.request.path === '/cluster/nodes')
  const body = Buffer.from(denied.response.body)
  t.match(JSON.parse(body.toString()), { data: { affected_items: [] }, error: 0 })
  t.equal(parseNodeList(body), undefined)
})

t.test('an error of the v4 layout is no list', async (t) => {
  const problem = { title: 'Permission Denied', detail: 'Permission denied', error: 4000 }
  t.equal(parseNodeList(Buffer.from(JSON.stringify(problem))), undefined)
})
