/** One probe at a time, also when an earlier one has taken too long. */
import t from 'tap'
import { Suspicion } from '../../../src/upstream/failure/suspicion.ts'

const maxTime = 100

t.test('the end of a probe that took longer than another one admits no third one', (t) => {
  let now = 0
  const suspicion = new Suspicion({ baseTime: 1, maxTime }, () => now)
  const isAdmitted = () => suspicion.admit() === undefined
  t.ok(isAdmitted())
  const first = suspicion.probeStart
  t.notOk(isAdmitted())
  now += maxTime
  t.ok(isAdmitted())
  const second = suspicion.probeStart
  suspicion.endProbe(first)
  t.notOk(isAdmitted(), 'while the second one is sent')
  suspicion.endProbe(second)
  t.ok(isAdmitted())
  t.end()
})
