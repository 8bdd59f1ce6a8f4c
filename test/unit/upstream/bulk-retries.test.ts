/** `Retry-After` of rejected bulk calls is true for a crowd too: it spreads their returns as the node can take them. */
import { assert, asyncProperty, integer } from 'fast-check'
import t from 'tap'
import { Agenda, createLimiter, deadlineIn, run, settled } from './limiter-simulation.ts'

const MAX_SECONDS = 240

/** Returns the `Retry-After` of the calls of a crowd that are rejected at once, in order. */
async function hintsOf(crowd: number, takes: number, inFlight: number): Promise<readonly number[]> {
  const call = { priority: 'bulk', takes } as const
  const arrivals = Array.from({ length: crowd }, () => ({ ...call, at: 2 * takes }))
  const { results } = await run([{ ...call, at: 0 }, ...arrivals], { inFlight })
  const hints = results.flatMap(({ acquisition, waited }) =>
    acquisition.ok || waited > 0 ? [] : [acquisition.retryAfter ?? 0],
  )
  return hints.toSorted((a, b) => a - b)
}

t.test('a crowd that is rejected at once comes back as fast as the node takes it', async (t) => {
  const property = asyncProperty(
    integer({ min: 300, max: 1500 }),
    integer({ min: 50, max: 4000 }),
    integer({ min: 1, max: 8 }),
    async (crowd, takes, slots) => {
      const hints = await hintsOf(crowd, takes, slots)
      const perSecond = (1000 * slots) / takes
      // Beyond the maximum, each place of its second half is given again.
      const laps = 1 + Math.ceil(Math.max(0, crowd / perSecond - MAX_SECONDS) / (MAX_SECONDS / 2))
      const returns = new Map<number, number>()
      for (const seconds of hints) returns.set(seconds, (returns.get(seconds) ?? 0) + 1)
      const isSpread = [...returns.values()].every((count) => count <= laps * (perSecond + 1))
      const isLaterThanOthers = hints.every((seconds, at) => laps > 1 || seconds >= Math.floor((at + 1) / perSecond))
      return isSpread && isLaterThanOthers && hints.every((seconds) => seconds >= 1 && seconds <= MAX_SECONDS)
    },
  )
  await t.resolves(assert(property, { numRuns: 30 }))
})

t.test('bulk clients that come back after Retry-After are not rejected again, and have the same share', async (t) => {
  const takes = 100
  const clients = 600
  const end = 60_000
  let now = 0
  const agenda = new Agenda()
  const sleep = (ms: number) => new Promise<void>((resolve) => agenda.add(now + ms, async () => resolve()))
  const clock = () => now
  const limiter = createLimiter(() => ({ inFlight: 4, queue: 256 }), clock)
  const counts = Array.from({ length: clients }, () => 0)
  let [returns, rejectedAgain] = [0, 0]
  const read = async (client: number) => {
    for (let isBack = false; ; ) {
      const flow = { party: 'ann 10.0.0.1', name: client, isBulk: true }
      const call = { priority: 'interactive', caller: 'ann', flow, path: '/', endpoint: 'GET /' } as const
      const slot = await limiter.acquire(call, deadlineIn(20_000, clock, agenda))
      if (isBack) returns += 1
      if (slot.ok) {
        const start = now
        await sleep(takes)
        limiter.release(call, start, 'success')
        counts[client] = (counts[client] ?? 0) + 1
        await sleep(1)
      } else {
        if (isBack) rejectedAgain += 1
        await sleep(1000 * (slot.retryAfter ?? 1))
      }
      isBack = !slot.ok
    }
  }
  for (let client = 0; client < clients; client += 1) agenda.add(client === 0 ? 0 : 2 * takes, () => read(client))
  for (let event = agenda.next(); event !== undefined && event.at < end; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  const [least, most] = [Math.min(...counts), Math.max(...counts)]
  t.ok(rejectedAgain <= returns / 100, `${rejectedAgain} of ${returns} rejected again`)
  t.ok(most <= least + 3, `${least} to ${most} calls`)
})
