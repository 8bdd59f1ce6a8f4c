import t from 'tap'
import { formatDrainState, nextState, parseDrainState } from '../../../src/upstream/drain-state.ts'

/** The greatest time of a `Date`. */
const MAX_TIME_MS = 8.64e15

t.test('a valid state of any revision can be followed by another valid one', async (t) => {
  for (const revision of [0, 1, Date.now(), MAX_TIME_MS - 1, MAX_TIME_MS]) {
    const state = parseDrainState(JSON.stringify({ revision, drains: [] }))
    if (state === undefined) throw new Error(`${revision} is not valid`)
    const next = nextState(state, [{ node: 'worker-1', by: 'operator', at: Date.now() }], Date.now())
    t.strictSame(parseDrainState(formatDrainState(next)), next, `after ${revision}`)
    t.ok(next.revision >= revision, 'it is not older')
  }
  t.equal(parseDrainState(JSON.stringify({ revision: MAX_TIME_MS + 1, drains: [] })), undefined)
})

t.test('a reason in any script is stored as ASCII, as counters are', async (t) => {
  const state = { revision: 1, drains: [{ node: 'wörker', by: 'オペレーター', at: 1, reason: 'тест 🙂' }] }
  const text = formatDrainState(state)
  t.match(text, /^[ -~]+$/)
  t.strictSame(parseDrainState(text), state)
})
