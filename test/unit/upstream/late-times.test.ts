/** A node that hung answers late calls when it goes on. The time until then is not the time that its calls take. */
import t from 'tap'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { Agenda, createLimiter, deadlineIn } from './limiter-simulation.ts'

const call = (endpoint: string): LimitedCall => ({ priority: 'interactive', caller: 'ann', endpoint })

t.test('a late answer changes no expected time', async (t) => {
  for (const hang of [3000, 30_000, 600_000]) {
    let now = 0
    const limiter = createLimiter(
      () => ({ inFlight: 4, queue: 10 }),
      () => now,
    )
    const late = call('GET /late')
    const deadline = deadlineIn(2500, () => now, new Agenda())
    t.match(await limiter.acquire(late, deadline), { ok: true })
    now = 2500
    limiter.keep(late, 0, 'failure')
    const before = [limiter.times.expected('GET /late'), limiter.times.expected('GET /other')]
    now = hang
    limiter.release(late, 0, 'success')
    t.strictSame([limiter.times.expected('GET /late'), limiter.times.expected('GET /other')], before, `${hang} ms`)
  }
})
