import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { type EdgeRead, NO_COST } from '../../../src/core/request.ts'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

/** A read with its own count of charges; `limited`: the limit of its caller is exceeded. */
function chargeable(limited = false): { readonly request: EdgeRead; charges: number } {
  const cost = {
    charge: () => {
      read.charges += 1
      if (limited) throw new EdgeError(903)
    },
  }
  const request = edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' }, cost })
  const read = { request, charges: 0 }
  return read
}

t.test('of the reads that share a fetch, the one that starts it is charged', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const reads = Array.from({ length: 10 }, () => chargeable())
  const responses = reads.map(async ({ request }) => read(request))
  await settle()
  open()
  await Promise.all(responses)
  t.strictSame(
    reads.map(({ charges }) => charges),
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  )
  t.ok(
    nodes.reads.every(({ cost }) => cost === NO_COST),
    'parts of the fetch are not charged again',
  )
  const hit = chargeable()
  await read(hit.request)
  t.equal(hit.charges, 0)
})

t.test('a read over the limit starts no fetch, and does not fail the reads that come after it', async (t) => {
  const { read, nodes } = replica()
  const over = chargeable(true)
  const within = chargeable()
  const results = await Promise.allSettled([
    (async () => read(over.request))(),
    (async () => read(within.request))(),
    (async () => read(chargeable(true).request))(),
  ])
  t.match(results, [{ reason: { code: 903 } }, { status: 'fulfilled' }, { status: 'fulfilled' }])
  t.equal(nodes.calls, 1)
})

t.test('a stale response is served to a caller over the limit, and refreshed', async (t) => {
  const { read, nodes, clock } = replica()
  await read(chargeable().request)
  clock.advance(1500)
  const over = chargeable(true)
  const stale = await read(over.request)
  t.match(cacheStatusOf(stale), { hit: true, detail: 'stale-while-revalidate' })
  await settle()
  t.equal(bodyOf(await read(over.request)).data, 2)
  t.equal(nodes.calls, 2)
  t.equal(over.charges, 0)
})

t.test('reads with no-cache are charged unless they share the next fetch', async (t) => {
  const { read } = replica()
  const reads = Array.from({ length: 4 }, () => chargeable())
  await Promise.all(reads.map(async ({ request }) => read({ ...request, reuse: 'noCache' })))
  t.strictSame(
    reads.map(({ charges }) => charges),
    [1, 1, 0, 0],
  )
})
