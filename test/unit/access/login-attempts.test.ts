import t from 'tap'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { createCounters } from '../../../src/core/counters.ts'

const counters = () => createCounters(() => 0)

t.test('under an attack on the whole edge, unknown pairs are delayed and known pairs are not', async (t) => {
  const attempts = new LoginAttempts({ failedLogins: () => 1, counters: counters() })
  await attempts.count('home', 'bob')
  await attempts.succeed('home', 'bob')
  for (let index = 0; index < 40; index++) await attempts.count(`address ${index}`, 'bob')
  t.match(await attempts.count('new', 'bob'), { allowed: true, rank: 1, delayMs: 0 })
  t.match(await attempts.count('new', 'eve'), { allowed: true, rank: 2, delayMs: 440 })
  t.match(await attempts.count('home', 'bob'), { allowed: true, rank: 0, delayMs: 0 })
})

t.test('an attempt that is cancelled is no failure', async (t) => {
  const attempts = new LoginAttempts({ failedLogins: () => 1, counters: counters() })
  for (let turn = 0; turn < 5; turn++) {
    t.match(await attempts.count('a', 'bob'), { allowed: true })
    await attempts.cancel('a', 'bob')
  }
})
