import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { edgeOf, LIST_INTERVAL_MS } from './replicas.ts'

const INTERVALS = 4

for (const count of [2, 4]) {
  t.test(`${count} idle replicas read one list of nodes per interval`, async (t) => {
    const { start, lists } = await edgeOf(t)
    for (let at = 0; at < count; at += 1) await start()
    const before = lists()
    t.ok(before >= count, 'each replica reads one at its start')
    const begin = performance.now()
    await wait(INTERVALS * LIST_INTERVAL_MS)
    const [read, passed] = [lists() - before, (performance.now() - begin) / LIST_INTERVAL_MS]
    // On a busy machine another replica takes over from one that is late.
    t.ok(read >= INTERVALS / 2 && read <= passed + 2, `${read} lists in ${passed.toFixed(1)} intervals`)
  })
}
