/** The pages of all owners are read through the cache: those that are young enough are used, the others are fetched once. */
import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { createOwnerLookup } from '../../../src/join/owner-lookup.ts'
import { edgeRequest, recordOf, replica, success } from '../../support/edge-requests.ts'

const PAGES = 4
const PAGE = 1000
/** Of each page. All of them take longer than a page is fresh. */
const FETCH_MS = 600
const MAX_AGE_MS = 5000

t.test('after a lookup that failed on its way, the next one fetches each page once at most', async (t) => {
  const { clock, nodes, read } = replica()
  const fetched: number[] = []
  let failing: number | undefined = 2
  nodes.respond = (request) => {
    const page = request.kind === 'read' ? Number(request.query.offset) / PAGE : 0
    if (page === failing) throw new EdgeError(924)
    fetched.push(page)
    clock.now += FETCH_MS
    const items = [{ id: `${page * PAGE + 1}`, node_name: 'm', status: 'Active' }]
    return success({ items, totalItems: PAGES * PAGE })
  }
  const endpoints = { agents: recordOf('GET /agents'), members: recordOf('GET /agents/groups/:group_id') }
  const lookup = createOwnerLookup({ endpoints, read })
  const find = () => lookup.findAll(edgeRequest('GET /agents'), () => MAX_AGE_MS)
  await t.rejects(find(), { code: 931 })
  t.strictSame(fetched.splice(0), [0, 1])

  failing = undefined
  clock.now += 2 * MAX_AGE_MS
  const { owners } = await find()
  t.equal(owners.size, PAGES)
  t.strictSame(fetched.splice(0).sort(), [0, 1, 2, 3])

  await find()
  t.strictSame(fetched.splice(0), [], 'all of them are young enough')
  clock.now += 2 * MAX_AGE_MS
  const { age } = await find()
  t.strictSame(fetched, [0, 1, 2, 3], 'all of them are too old')
  t.ok(age <= PAGES * FETCH_MS, `${age} ms`)
})
