/** Thousands of callers that share one result. */
import t from 'tap'
import { SingleFlight } from '../../../src/cache/single-flight.ts'
import { createNoClient } from '../../../src/core/request.ts'
import { measureCpu, measureRuns } from '../../support/event-loop.ts'

const CALLERS = 1000
/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const STEPS = 100_000

let sum = 0

/** Takes about a tenth of a millisecond, as a response that is represented and sent. */
function work(): void {
  for (let step = 0; step < STEPS; step += 1) sum = Math.imul(sum ^ step, 0x01000193)
}

t.test('they continue in several turns of the event loop, in their order', async (t) => {
  t.ok(measureCpu(() => Array.from({ length: CALLERS }, work)) > 2 * MAX_TURN_MS, 'together they exceed one turn')
  const share = async () => {
    const flights = new SingleFlight<string>(() => false)
    const run = () => new Promise<string>((resolve) => setTimeout(resolve, 1, 'result'))
    const order: number[] = []
    const callers = Array.from({ length: CALLERS }, async (_, at) => {
      const { value } = await flights.join('id', createNoClient(), { run, continuesWithoutCallers: true })
      work()
      order.push(at)
      return value
    })
    t.strictSame(new Set(await Promise.all(callers)), new Set(['result']))
    t.strictSame(order, [...callers.keys()])
  }
  const longest = Math.min(...(await measureRuns(share, MAX_TURN_MS)))
  t.ok(longest < MAX_TURN_MS, `${longest.toFixed(1)} ms in the longest turn`)
})
