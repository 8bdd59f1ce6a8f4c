/** The bounds of what is counted by caller. Beyond them nothing is lost but the names. */
import t from 'tap'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { CallerCounts } from '../../server/caller-counts.ts'

const START = Date.UTC(2026, 0, 1)

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

t.test('callers above the bound of a minute count together', async (t) => {
  const counts = new CallerCounts(() => START)
  for (let user = 0; user < 3000; user++)
    counts.request(requestEvent({ at: START, cache: user % 2 === 0 ? 'hit' : 'miss', caller: `user ${user}` }))
  const { callers } = counts.rows()
  t.equal(callers.length, 2001)
  t.match(
    callers.find(({ caller }) => caller === 'others'),
    { requests: 1000, hits: 500 },
  )
  t.equal(sum(callers.map(({ requests }) => requests)), 3000)
})
