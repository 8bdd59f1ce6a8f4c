/**
 * People who think between their calls, beside clients that always have a call waiting and ignore `Retry-After`, in front of a
 * manager as slow as a real one, in virtual time.
 */
import t from 'tap'
import { createInterpreters } from '../../../packages/simulator/src/interpreters.ts'
import { Presence } from '../../../src/core/presence.ts'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { Agenda, clientCall, createLimiter, deadlineIn, settled } from './limiter-simulation.ts'

interface Crowd {
  readonly bulk: number
  /** The user of the bulk clients; that of the people is `ann`. */
  readonly user: string
}

interface Wait {
  readonly ms: number
  readonly isRejected: boolean
}

const TIMEOUT_MS = 20_000
const PEOPLE = 10
const THINK_MS = 20_000
/** Responses that people use and that are refreshed in the background, and how often. */
const REFRESHES = 6
const REFRESH_MS = 5_000
/** Until a bulk client comes again. */
const AGAIN_MS = 400
/** By then, the first calls of all clients are answered or rejected, those of refreshes too. */
const BEGIN_MS = TIMEOUT_MS + 2_000
const END_MS = 60_000
/** The longest call while four are in flight. */
const CALL_MS = 1_400

/** Returns how long people and refreshes wait for a slot, and the bulk calls per second that are answered. */
async function simulate({ bulk, user }: Crowd) {
  let now = 0
  const agenda = new Agenda()
  const limits = { inFlight: 4, queue: 256 }
  const clock = () => now
  const limiter = createLimiter(() => limits, clock)
  const runAfter = (run: () => void, ms: number) => {
    let isCancelled = false
    agenda.add(now + ms, async () => void (isCancelled || run()))
    return () => {
      isCancelled = true
    }
  }
  const node = createInterpreters({ scale: 1, work: 0.45, atOnce: limits.inFlight }, { now: clock, runAfter })
  const sleep = (ms: number) => new Promise<void>((resolve) => agenda.add(now + ms, async () => resolve()))
  const send = async (flow: string, more: Partial<LimitedCall> = {}): Promise<Wait> => {
    const call = clientCall(flow, more)
    const arrival = now
    const slot = await limiter.acquire(call, deadlineIn(TIMEOUT_MS, clock, agenda))
    const [start, wait] = [now, { ms: now - arrival, isRejected: !slot.ok }]
    if (!slot.ok) return wait
    await node.run(1)
    limiter.release(call, start, 'success')
    return wait
  }
  let answers = 0
  const readAll = async (at: number) => {
    for (await sleep((1000 * at) / bulk); ; ) {
      const { isRejected } = await send(`${user} 10.0.0.1 bulk-${at}`)
      if (isRejected) await sleep(AGAIN_MS)
      else if (now > BEGIN_MS) answers += 1
    }
  }
  const waits: Wait[] = []
  const read = async (at: number) => {
    for (await sleep((THINK_MS * at) / PEOPLE); ; await sleep(THINK_MS)) {
      const isMeasured = now > BEGIN_MS
      const wait = await send(`ann 10.0.0.1 ${at}`)
      if (isMeasured) waits.push(wait)
    }
  }
  const refreshes: Wait[] = []
  const refresh = async (at: number) => {
    const presence = new Presence()
    const unawaited = Object.assign(presence, { isAwaited: false })
    for (await sleep((REFRESH_MS * at) / REFRESHES); ; await sleep(REFRESH_MS)) {
      const isMeasured = now > BEGIN_MS
      const wait = await send(`ann 10.0.0.1 ${at}`, { presence: unawaited })
      if (isMeasured) refreshes.push(wait)
    }
  }
  for (let at = 0; at < bulk; at += 1) void readAll(at)
  for (let at = 0; at < PEOPLE; at += 1) void read(at)
  for (let at = 0; at < REFRESHES; at += 1) void refresh(at)
  for (let event = agenda.next(); event !== undefined && event.at < END_MS; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  return { waits, refreshes, perSecond: (1000 * answers) / (END_MS - BEGIN_MS) }
}

for (const user of ['ann', 'script'])
  for (const bulk of [12, 60, 120]) {
    t.test(`people wait for one call at most, beside ${bulk} bulk clients of ${user}`, async (t) => {
      const { waits, refreshes, perSecond } = await simulate({ bulk, user })
      const late = waits.filter(({ ms, isRejected }) => isRejected || ms > CALL_MS)
      t.same(late, [], `of ${waits.length}`)
      // While a response is served stale, others need their refreshes too.
      const lateRefreshes = refreshes.filter(({ ms, isRejected }) => isRejected || ms > 5000)
      t.same(lateRefreshes, [], `refreshes, of ${refreshes.length}`)
      // The node answers 3.5 calls per second, and people need 1.7.
      t.ok(perSecond >= 0.6 * (3.5 - 1.7), `${perSecond}`)
    })
  }
