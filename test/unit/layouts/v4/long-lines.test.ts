/** A request whose call would be too long for a node is refused: the answer of the node to it looks like a fault. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, success } from './recorded.ts'

const unexpected = (): never => {
  throw new Error('the node was called')
}

// A node gets three bytes for each of these letters.
const search = "'".repeat(1_000)
const plus = '+'.repeat(1_000)

t.test('a read whose encoded parameters are too long is error 908, and nothing is sent', async (t) => {
  const request = edgeRequest('GET', '/agents', { query: { search, name: plus, 'os.platform': plus } })
  await t.rejects(ask(request, unexpected), { code: 908, status: 414 })
})

t.test('a list of groups that is too long for a node is error 908, and no group is removed', async (t) => {
  const ids = Array.from({ length: 900 }, (_, at) => `group-${String(at).padStart(3, '0')}`)
    .join(',')
    .slice(0, 8_170)
  const methods: string[] = []
  const request = edgeRequest('DELETE', '/agents/groups', { query: { ids } })
  const asking = ask(request, ({ method }) => {
    methods.push(method)
    return success([])
  })
  await t.rejects(asking, { code: 908, status: 414 })
  t.notOk(methods.includes('DELETE'))
})

t.test('a read with one long text is sent', async (t) => {
  const { calls } = await ask(edgeRequest('GET', '/agents', { query: { search } }), () => success([]))
  t.same(calls, [`GET /agents?search=${search}`])
})
