import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { together } from '../../support/together.ts'
import { edgeOf, LIST_INTERVAL_MS } from './replicas.ts'

const test = together(t, 2)

const INTERVALS = 5

for (const count of [2, 4]) {
  test(`${count} idle replicas read one list of nodes per interval`, async (t) => {
    const { start, lists } = await edgeOf(t)
    for (let at = 0; at < count; at += 1) await start()
    t.equal(lists(), count, 'each replica reads one at its start')
    await wait(INTERVALS * LIST_INTERVAL_MS)
    const read = lists() - count
    // On a busy machine another replica takes over from one that is late.
    t.ok(read >= INTERVALS / 2 && read <= INTERVALS + 2, `${read} lists in ${INTERVALS} intervals`)
  })
}
