/** A steady overload on a pool of connections, all of which become bulk: no call is passed by others for long and answered late. */
import t from 'tap'
import { Sequences } from '../../../src/http/sequences.ts'
import { Agenda, createLimiter, deadlineIn, settled } from './limiter-simulation.ts'

const NODE_MS = 40
const LIMITS = { inFlight: 2, queue: 32 }
/** Between requests, at twice the capacity. */
const INTERVAL_MS = 10
/** Until a client uses its connection again. */
const AGAIN_MS = 36
/** By then all connections have been used for 5 s, and calls that came before are answered. */
const BEGIN_MS = 8_000
const END_MS = 20_000
/** A full queue takes less than a second here. */
const SOJOURN_MS = 1_000

/** Returns a generator of the same numbers from 0 to 1 in each run. */
function seeded() {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

/** Returns how long calls waited for a slot that came at `begin` or later, and the Retry-After of the others. */
async function overload(begin: number) {
  let now = 0
  const clock = () => now
  const random = seeded()
  const agenda = new Agenda()
  const sleep = (ms: number) => new Promise<void>((resolve) => agenda.add(now + ms, async () => resolve()))
  const limiter = createLimiter(() => LIMITS, clock)
  const sequences = new Sequences(clock)
  const pool: { readonly name: number; isUsed: boolean }[] = []
  const open = () => {
    const connection = { name: pool.length + 1, isUsed: false }
    pool.push(connection)
    return connection
  }
  const waits: number[] = []
  const hints: number[] = []
  const request = async () => {
    const arrival = now
    const connection = pool.find(({ isUsed }) => !isUsed) ?? open()
    connection.isUsed = true
    const flow = sequences.begin('ann 10.0.0.1', '/', connection.name)
    const call = { priority: 'interactive', caller: 'ann', flow, path: '/', endpoint: 'GET /' } as const
    const slot = await limiter.acquire(call, deadlineIn(20_000, clock, agenda))
    const start = now
    if (slot.ok) {
      await sleep(NODE_MS + 6 * random())
      limiter.release(call, start, 'success')
    }
    if (arrival >= begin && slot.ok) waits.push(start - arrival)
    if (arrival >= begin && !slot.ok) hints.push(slot.retryAfter ?? 0)
    flow.end()
    await sleep(2 * AGAIN_MS * random())
    connection.isUsed = false
  }
  for (let at = 0; at < END_MS; at += INTERVAL_MS) agenda.add(at + 30 * random(), request)
  for (let event = agenda.next(); event !== undefined; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  return { waits, hints }
}

t.test('a bulk call that others pass is rejected after its sojourn time', async (t) => {
  const { waits, hints } = await overload(BEGIN_MS)
  const late = waits.filter((wait) => wait > SOJOURN_MS)
  t.same(late, [], `of ${waits.length}`)
  t.ok(waits.length * NODE_MS >= 0.8 * LIMITS.inFlight * (END_MS - BEGIN_MS), 'the node is busy')
  t.ok(hints.length > 0 && hints.every((seconds) => seconds >= 1))
})

t.test('before the connections are bulk, those with the most calls wait no longer than the others', async (t) => {
  const { waits } = await overload(0)
  const [late = 0] = waits.toSorted((a, b) => b - a).slice(Math.floor(waits.length / 100))
  const fullQueue = (LIMITS.queue * NODE_MS) / LIMITS.inFlight
  t.ok(late <= 2 * fullQueue, `99 % of ${waits.length} wait for at most ${late} ms`)
})
