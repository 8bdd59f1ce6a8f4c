import t from 'tap'
import { formatDuration, formatTimeLeft } from '../src/format.ts'

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000]

t.test('a duration has the two largest units, exactly', async (t) => {
  for (const [ms, text] of [
    [65 * SECOND, '1 min 5 s'],
    [MINUTE + 59 * SECOND + 999, '1 min 59 s'],
    [2 * MINUTE, '2 min'],
    [HOUR - 1, '59 min 59 s'],
    [HOUR + 7 * MINUTE, '1 h 7 min'],
    [DAY + 11 * HOUR, '1 d 11 h'],
    [-65 * SECOND, '−1 min 5 s'],
  ] as const) {
    t.equal(formatDuration(ms), text)
  }
  for (let seconds = 60; seconds < 3600; seconds += 1) {
    const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
    const text = rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`
    if (formatDuration(seconds * SECOND) !== text) t.fail(`${seconds} s: ${formatDuration(seconds * SECOND)}`)
  }
})

t.test('a time left is no negative number', async (t) => {
  t.strictSame([-500, 0, 90 * SECOND].map(formatTimeLeft), ['expired', '0 ms', '1 min 30 s'])
})
