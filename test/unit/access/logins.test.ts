import t from 'tap'
import { createAttempts } from '../../../src/access/login-attempts.ts'
import { BoundedQueue, Logins } from '../../../src/access/logins.ts'
import { memoryRevocations } from '../../../src/access/revocations.ts'

function setUp({ failures = 3, waiting = 2, gate = Promise.resolve() } = {}) {
  const time = { now: 0 }
  const clock = { wall: () => time.now, elapsed: () => time.now }
  const state = { checked: 0, standing: 'first' }
  const logins = new Logins({
    check: async (name, password) => {
      state.checked++
      await gate
      return password === `right for ${name}`
    },
    standing: () => state.standing,
    attempts: createAttempts({ failures, clock }),
    queue: new BoundedQueue({ atOnce: 1, waiting }),
    clock,
  })
  return { time, state, logins }
}

t.test('right credentials are remembered for a minute, not longer for being used', async (t) => {
  const { time, state, logins } = setUp()
  for (time.now = 0; time.now <= 60_000; time.now += 10_000)
    t.match(await logins.login('a', 'bob', 'right for bob'), { ok: true })
  t.equal(state.checked, 2)
})

t.test('they are forgotten when the line of the user changes', async (t) => {
  const { state, logins } = setUp()
  await logins.login('a', 'bob', 'right for bob')
  state.standing = 'second'
  await logins.login('a', 'bob', 'right for bob')
  t.equal(state.checked, 2)
})

t.test('name and password do not run into one another', async (t) => {
  const { logins } = setUp()
  t.match(await logins.login('a', 'bob', 'right for bob'), { ok: true })
  t.match(await logins.login('a', 'bobright', ' for bob'), { reason: 'wrong' })
  t.match(await logins.login('a', 'bo', 'bright for bob'), { reason: 'wrong' })
})

t.test('each further failure blocks twice as long, a minute at most, and the block ends', async (t) => {
  const { time, logins, state } = setUp()
  for (let turn = 0; turn < 3; turn++) t.match(await logins.login('a', 'bob', 'x'), { reason: 'wrong' })
  const waits: number[] = []
  for (let turn = 0; turn < 8; turn++) {
    const blocked = await logins.login('a', 'bob', 'x')
    if (blocked.ok || blocked.reason !== 'blocked') throw new Error('not blocked')
    waits.push(blocked.after)
    time.now += blocked.after
    t.match(await logins.login('a', 'bob', 'x'), { reason: 'wrong' }, 'one more guess')
  }
  t.same(waits.slice(0, 4), [1000, 2000, 4000, 8000])
  t.ok(Math.max(...waits) <= 60_000)
  t.equal(state.checked, 11, 'nothing was verified while blocked')
  time.now += 60_000
  t.match(await logins.login('a', 'bob', 'right for bob'), { ok: true })
  t.match(await logins.login('a', 'bob', 'x'), { reason: 'wrong' }, 'forgiven')
})

t.test('a full queue refuses strangers at once, and still takes who has been there lately', async (t) => {
  let open = () => {}
  const { state, logins } = setUp()
  await logins.login('home', 'bob', 'right for bob')
  state.standing = 'changed'
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const queue = new BoundedQueue({ atOnce: 1, waiting: 2 })
  const order: string[] = []
  const job = (name: string) => async () => {
    await gate
    order.push(name)
  }
  const running = ['one', 'two', 'three'].map((name) => queue.run(job(name), false))
  t.equal(queue.run(job('four'), false), undefined)
  const known = queue.run(job('known'), true)
  t.not(known, undefined)
  open()
  await Promise.all([...running, known])
  t.same(order, ['one', 'known', 'two', 'three'])
})

t.test('when everybody is attacked, strangers wait a little and are let in', async (t) => {
  const time = { now: 0 }
  const clock = { wall: () => time.now, elapsed: () => time.now }
  const attempts = createAttempts({ failures: 1, clock })
  await attempts.count('home', 'bob')
  await attempts.right('home', 'bob')
  for (let index = 0; index < 40; index++) await attempts.count(`address ${index}`, 'bob')
  t.match(await attempts.count('new', 'bob'), { allowed: true, known: false, delay: 420 })
  t.match(await attempts.count('home', 'bob'), { allowed: true, known: true, delay: 0 })
})

t.test('an attempt that could not be verified is no failure', async (t) => {
  const clock = { wall: () => 0, elapsed: () => 0 }
  const attempts = createAttempts({ failures: 1, clock })
  for (let turn = 0; turn < 5; turn++) {
    t.match(await attempts.count('a', 'bob'), { allowed: true })
    await attempts.undone('a', 'bob')
  }
})

t.test('revocations are forgotten when the tokens concerned have expired', async (t) => {
  const time = { now: 1000 }
  const revocations = memoryRevocations({ wall: () => time.now, elapsed: () => time.now })
  const token = { issuer: 'i', subject: 'bob', jti: 'one', issuedAt: 900 }
  await revocations.revokeUpTo('i', 'bob', 950, 70_000)
  t.ok(await revocations.isRevoked(token))
  t.notOk(await revocations.isRevoked({ ...token, issuedAt: 951 }))
  t.notOk(await revocations.isRevoked({ ...token, issuer: 'ib', subject: 'ob' }))
  await revocations.revoke('i', 'two', 70_000)
  t.ok(await revocations.isRevoked({ ...token, subject: 'carol', jti: 'two' }))
  time.now = 80_000
  await revocations.revoke('i', 'three', 90_000)
  t.notOk(await revocations.isRevoked(token))
})
