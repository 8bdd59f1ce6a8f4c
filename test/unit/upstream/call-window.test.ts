/** The count of calls to a node with a limit per minute, by a virtual clock. */
import t from 'tap'
import { type BudgetShare, CallWindow } from '../../../src/upstream/call-window.ts'

const LIMIT = 300
const MINUTE_MS = 60_000
/** Any time of a clock; not a whole second. */
const START = 1_700_000_000_123

/** Returns the most calls in a window of 60 s, whenever it begins. */
function mostInAMinute(times: readonly number[]): number {
  let most = 0
  let first = 0
  for (const [at, time] of times.entries()) {
    while (time - (times[first] ?? 0) >= MINUTE_MS) first += 1
    most = Math.max(most, at - first + 1)
  }
  return most
}

/** Numbers from 0 to 1 that are the same for a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

t.test('no 60 seconds have more calls than the limit, and reads leave the reserve, whatever the schedule', (t) => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = randomOf(seed)
    const limit = [300, 100, 40, 7][seed % 4] ?? LIMIT
    const reserve = Math.min(Math.floor(limit / 2), Math.max(15, Math.ceil(limit / 10)))
    const window = new CallWindow(START)
    const sent: Record<BudgetShare, number[]> = { read: [], reserved: [] }
    let now = START
    let meanPause = 50
    for (let step = 0; step < 8_000; step += 1) {
      // Idle times, floods and everything in between take turns.
      if (random() < 0.002) meanPause = [1, 20, 150, 400, 3_000][Math.floor(random() * 5)] ?? 50
      now += random() * 2 * meanPause
      const share: BudgetShare = random() < 0.05 ? 'reserved' : 'read'
      // The call arrives up to a second and a half after it was permitted.
      if (window.take(share, limit, now)) sent[share].push(now + random() * 1_500)
    }
    const all = [...sent.read, ...sent.reserved].sort((a, b) => a - b)
    t.ok(mostInAMinute(all) <= limit, `seed ${seed}: ${mostInAMinute(all)} of ${limit}`)
    const reads = sent.read.sort((a, b) => a - b)
    t.ok(mostInAMinute(reads) <= limit - reserve, `seed ${seed}: ${mostInAMinute(reads)} reads of ${limit}`)
  }
  t.end()
})

t.test('an idle node answers a third of its limit at once', (t) => {
  const window = new CallWindow(START)
  let burst = 0
  while (window.take('read', LIMIT, START)) burst += 1
  t.equal(burst, LIMIT / 3)
  t.equal(window.free(LIMIT, START), 0)
  t.ok(window.waitFor('read', 1, LIMIT, START) < 1_000, 'and the next call soon')
  t.end()
})

t.test('reads without end never wait for seconds, and use most of the limit', (t) => {
  const window = new CallWindow(START)
  const sent: number[] = []
  let longestPause = 0
  for (let now = START; now < START + 10 * MINUTE_MS; now += 20) {
    if (!window.take('read', LIMIT, now)) continue
    longestPause = Math.max(longestPause, now - (sent.at(-1) ?? now))
    sent.push(now)
  }
  t.ok(longestPause < 2_000, `${longestPause} ms between two reads`)
  t.ok(sent.length / 10 > 240, `${sent.length / 10} reads per minute`)
  t.end()
})

t.test('writes are sent at once while reads use up their part', (t) => {
  const window = new CallWindow(START)
  for (let now = START; now < START + 2 * MINUTE_MS; now += 10) {
    window.take('read', LIMIT, now)
    if (now % 10_000 === 3) t.ok(window.take('reserved', LIMIT, now))
  }
  t.end()
})

t.test('the expected wait is the time after which the calls are permitted', (t) => {
  const window = new CallWindow(START)
  let now = START
  for (; now < START + 90_000; now += 10) window.take('read', LIMIT, now)
  for (const calls of [1, 5, 40]) {
    const wait = window.waitFor('read', calls, LIMIT, now)
    const copy = CallWindow.parse(window.format(now), now) ?? window
    let taken = 0
    let at = now
    for (; taken < calls; at += 10) if (copy.take('read', LIMIT, at)) taken += 1
    t.ok(Math.abs(at - now - wait) < 2_500, `${calls} calls: ${wait} ms expected, ${at - now} ms needed`)
  }
  t.equal(window.waitFor('read', LIMIT, LIMIT, now), Number.POSITIVE_INFINITY, 'reads never get the reserve')
  t.end()
})

t.test('after the node refused a call, one call in ten seconds is sent until the node answers', (t) => {
  const window = new CallWindow(START)
  t.ok(window.take('read', LIMIT, START))
  window.close(START + 100)
  const sent: number[] = []
  for (let now = START + 110; now < START + 31_000; now += 50) if (window.take('read', LIMIT, now)) sent.push(now)
  t.equal(sent.length, 3)
  t.ok(window.waitFor('read', 1, LIMIT, START + 31_000) > 25_000)
  window.recordAnswer(START + 50)
  t.ok(window.isClosed(START + 31_000), 'the answer of an earlier call is no sign of a new minute')
  window.recordAnswer(START + 30_500)
  t.notOk(window.isClosed(START + 31_000))
  t.ok(window.take('reserved', LIMIT, START + 31_001))
  t.end()
})

t.test('a closed window opens after a minute at the latest', (t) => {
  const window = new CallWindow(START)
  window.close(START)
  t.equal(window.waitFor('reserved', 2, LIMIT, START), MINUTE_MS)
  t.notOk(window.isClosed(START + MINUTE_MS))
  t.end()
})

t.test('a window is the same after it was written and read', (t) => {
  const window = new CallWindow(START)
  for (let now = START; now < START + 30_000; now += 70) window.take('read', LIMIT, now)
  window.close(START + 30_000)
  const now = START + 30_500
  const copy = CallWindow.parse(window.format(now), now)
  t.equal(copy?.format(now), window.format(now))
  t.equal(copy?.used(now), window.used(now))
  t.equal(copy?.born, window.born)
  t.equal(CallWindow.parse('', now), undefined)
  t.equal(CallWindow.parse('something else', now), undefined)
  t.end()
})

t.test('a clock that went back does not stop the calls', (t) => {
  const window = new CallWindow(START)
  while (window.take('read', LIMIT, START));
  window.close(START)
  const earlier = START - 3_600_000
  const copy = CallWindow.parse(window.format(START), earlier) ?? window
  t.ok(copy.waitFor('read', 1, LIMIT, earlier) <= MINUTE_MS)
  t.ok(copy.take('read', LIMIT, earlier + 65_000))
  t.end()
})
