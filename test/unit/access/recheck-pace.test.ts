/** How often accepted tokens are checked again, by the series in use and by the calls that the node still answers. */
import t from 'tap'
import { createRecheckPace } from '../../../src/access/recheck-pace.ts'

t.test('while reads wait, checks take a ninth of the calls per minute, otherwise a third', async (t) => {
  let now = 0
  let isBusy = false
  const pace = createRecheckPace({
    recheck: () => 10_000,
    recheckMax: () => 600_000,
    perMinute: () => 270,
    replicas: () => 1,
    isBusy: () => isBusy,
    clock: { elapsed: () => now },
  })
  const intervalWith = (series: number): number => {
    now += 1_000
    for (let at = 0; at < series; at += 1) pace.note(`series ${at}`)
    return Math.round(pace.interval() / 1_000)
  }
  t.equal(intervalWith(3), 10)
  t.equal(intervalWith(90), 60)
  isBusy = true
  t.equal(intervalWith(90), 180)
  t.equal(intervalWith(900), 600, 'the limit')
})
