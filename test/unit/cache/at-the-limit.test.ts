/** Clients of a node that answers fewer calls per minute than its responses expire (`cluster.limits.perMinute`). */
import t from 'tap'
import type { EdgeRead } from '../../../src/core/request.ts'
import { cacheStatusOf, edgeRequest, replica, settle, success } from '../../support/edge-requests.ts'

const STEP_MS = 125
/** A permit every 250 ms, as of 240 calls a minute. */
const STEPS_PER_PERMIT = 2
const RANKS: readonly EdgeRead['priority'][] = ['health', 'interactive', 'bulk']

/** A cache in front of a node that sends a call with a permit only: first those of the highest priority, in turn. */
function cacheAtLimit() {
  let timers: (() => void)[] = []
  let queue: { readonly request: Pick<EdgeRead, 'priority'>; readonly start: () => void }[] = []
  let permits = 0
  let steps = 0
  const parts = replica({
    lifetimesOf: () => ({ ttl: 1000, staleWhileRevalidate: 'automatic', staleIfError: 60_000 }),
    refreshAhead: { maxConcurrent: 4, minHits: 3, runLater: (run) => timers.push(run) },
    hasIdleCapacity: () => permits - 2 * queue.length >= 4,
    waitForRead: (_, others) => Math.max(0, queue.length + 1 + others - permits) * STEPS_PER_PERMIT * STEP_MS,
  })
  const { clock, nodes } = parts
  nodes.respond = (request, call) => new Promise((start) => queue.push({ request, start: () => start(success(call)) }))
  const step = async () => {
    await settle()
    clock.advance(STEP_MS)
    steps += 1
    if (steps % STEPS_PER_PERMIT === 0) permits += 1
    const due = timers
    timers = []
    for (const run of due) run()
    await settle()
    queue = RANKS.flatMap((rank) => queue.filter(({ request }) => request.priority === rank))
    for (const { start } of queue.splice(0, permits)) {
      permits -= 1
      start()
    }
    await settle()
  }
  return { ...parts, step }
}

const agent = (id: number) => edgeRequest('GET /agents/:agent_id', { params: { agent_id: String(100 + id) } })

/** The clients of 60 responses, each of which is requested every 1.5 s. Returns how long each answer took, and its age. */
async function run(
  { read, step, clock }: ReturnType<typeof cacheAtLimit>,
  seconds: number,
  others = () => [] as EdgeRead[],
) {
  const waits: { readonly request: EdgeRead; readonly ms: number; readonly age: number }[] = []
  for (let at = 0; at < (1000 * seconds) / STEP_MS; at += 1) {
    const due = Array.from({ length: 5 }, (_, each) => agent(5 * (at % 12) + each))
    for (const request of [...due, ...others()]) {
      const begun = clock.now
      void Promise.resolve(read(request)).then((response) =>
        waits.push({ request, ms: clock.now - begun, age: 1000 - (cacheStatusOf(response)?.ttl ?? 0) }),
      )
    }
    await step()
  }
  return waits
}

t.test(
  'refreshes are spread over the time for which responses are served stale, so that no client waits',
  async (t) => {
    const cache = cacheAtLimit()
    await run(cache, 20)
    const { calls } = cache.nodes
    const waits = await run(cache, 60)
    const waited = waits.filter(({ ms }) => ms > 0).length
    t.equal(waited, 0, `${waited} of ${waits.length} answers waited`)
    const oldest = Math.max(...waits.map(({ age }) => age))
    t.ok(oldest <= 31_000, `the oldest answer is of ${oldest} ms`)
    t.ok(cache.nodes.calls - calls > 220, 'the calls that the limit permits are used')
  },
)

t.test('a client that must wait gets the next call, however many refreshes wait', async (t) => {
  const cache = cacheAtLimit()
  await run(cache, 20)
  let id = 500
  let at = 0
  const waits = await run(cache, 40, () => {
    at += 1
    return at % 10 === 0 ? [agent(++id)] : []
  })
  const slowest = Math.max(...waits.map(({ ms }) => ms))
  t.ok(slowest <= 2 * STEPS_PER_PERMIT * STEP_MS, `the slowest answer took ${slowest} ms`)
})
