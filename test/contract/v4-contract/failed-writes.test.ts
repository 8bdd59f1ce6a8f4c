/** A write of which items failed ends: reads are stored again at once. */
import t from 'tap'
import { startEdgeAndNode } from './edge-and-node.ts'
import { type ContractExchange, nameOf, problemOf, recordedExchanges } from './exchanges.ts'

const all = recordedExchanges()
const read = all.find(({ operation, user }) => operation === 'GET /agents' && user === 'administrator')

function failedWrites(): readonly ContractExchange[] {
  return all.filter(({ request: { method }, response: { status, body } }) => {
    const { error } = problemOf(body)
    return method !== 'GET' && status === 200 && (error === 1 || error === 2)
  })
}

t.test('after each recorded write with failed items, the second of two reads is a hit', async (t) => {
  if (read === undefined) return void t.fail('no read is recorded')
  const edge = await startEdgeAndNode()
  t.teardown(() => edge.close())
  const writes = failedWrites()
  t.ok(writes.length > 20, `${writes.length} writes`)
  for (const write of writes) {
    const { status, calls } = await edge.send(write)
    t.strictSame([status, calls.length], [200, 1], nameOf(write))
    await edge.send(read)
    t.match((await edge.send(read)).cacheStatus, /hit/, nameOf(write))
  }
})
