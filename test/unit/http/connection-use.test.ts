/** A caller that always has a request waiting is bulk, and others on the same connection are not. */
import t from 'tap'
import { Sequences, sequenceOf } from '../../../src/http/sequences.ts'
import { edgeRequest } from '../../support/edge-requests.ts'

/** Sends requests of `takes` ms with a pause of `pause` ms after each for 20 s. Returns when the first one was bulk. */
function firstBulk(takes: number, pause: number, caller: (at: number) => string): number | undefined {
  const sequences = new Sequences()
  for (let now = 0; now < 20_000; now += takes + pause) {
    const { isBulk, end } = sequences.begin(caller(now), now)
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

const read = (path: string, query: Record<string, string> = {}, params: Record<string, string> = {}) =>
  sequenceOf(edgeRequest(`GET ${path}`, { query, params }))

t.test(
  'without connections that last, pages and agents are one sequence, and other responses one for each path',
  (t) => {
    const walk = read('/agents', { offset: '20', limit: '20' })
    t.equal(read('/rules', { offset: '40' }), walk)
    t.equal(read('/syscollector/:agent_id/os', {}, { agent_id: '001' }), walk)
    const responses = [read('/agents', { offset: '0', limit: '20' }), read('/rules'), read('/manager/info')]
    t.equal(new Set([walk, ...responses]).size, 4)
    t.end()
  },
)
