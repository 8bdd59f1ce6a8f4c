/** A caller that always has a request waiting is bulk, and others on the same connection are not. */
import t from 'tap'
import { ConnectionCallers } from '../../../src/http/connection-callers.ts'

/** Sends requests of `takes` ms with a pause of `pause` ms after each for 20 s. Returns when the first one was bulk. */
function firstBulk(takes: number, pause: number, caller: (at: number) => string): number | undefined {
  const connection = new ConnectionCallers()
  for (let now = 0; now < 20_000; now += takes + pause) {
    const { isBulk, end } = connection.begin(caller(now), now)
    if (isBulk) return now
    end(now + takes)
  }
  return undefined
}

t.test('requests that follow each other for 5 s are bulk, whatever each of them takes', (t) => {
  for (const takes of [20, 400, 4000]) {
    for (const pause of [0, 10, 480]) {
      const first = firstBulk(takes, pause, () => 'ann') ?? 0
      t.ok(first >= 5000 && first < 5000 + takes + pause, `${takes} ms, pause ${pause} ms: after ${first} ms`)
    }
  }
  t.end()
})

t.test('a client that pauses is never bulk', (t) => {
  for (const takes of [20, 400, 4000])
    t.equal(
      firstBulk(takes, 600, () => 'ann'),
      undefined,
      `${takes} ms`,
    )
  t.end()
})

t.test('callers behind a balancer, on one connection, are distinguished', (t) => {
  t.equal(
    firstBulk(50, 0, (at) => `user${(at / 50) % 20}`),
    undefined,
  )
  t.end()
})
