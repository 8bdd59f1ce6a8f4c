import t from 'tap'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { PasswordLogins } from '../../../src/access/logins.ts'
import { createCounters } from '../../../src/core/counters.ts'
import { eventually } from '../../support/eventually.ts'

/** Logins against a fake check that accepts `right for NAME` once `gate` resolves. */
function createLogins({ gates = [Promise.resolve()], concurrency = 1, maxQueued = 2 } = {}) {
  const time = { now: 0 }
  const clock = { wall: () => time.now, elapsed: () => time.now }
  const state = { checks: 0, names: [] as string[], credentialVersion: 'first' }
  const logins = new PasswordLogins({
    verifyPassword: async ({ username: name, password }) => {
      state.names.push(name)
      await gates[state.checks++ % gates.length]
      return password === `right for ${name}`
    },
    credentialVersion: () => state.credentialVersion,
    attempts: new LoginAttempts({ failedLogins: () => 3, counters: createCounters(clock.elapsed) }),
    limits: { concurrency, maxQueued },
    clock,
  })
  return { time, state, logins }
}

function createGate(): { gate: Promise<void>; open: () => void } {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  return { gate, open }
}

t.test('right credentials are remembered for one minute, and use does not extend it', async (t) => {
  const { time, state, logins } = createLogins()
  for (time.now = 0; time.now <= 60_000; time.now += 10_000)
    t.match(await logins.login('a', { username: 'bob', password: 'right for bob' }), { ok: true })
  t.equal(state.checks, 2)
})

t.test('changed credentials are checked again, also those that were being checked', async (t) => {
  const { gate, open } = createGate()
  const { state, logins } = createLogins({ gates: [gate] })
  const checking = logins.login('a', { username: 'bob', password: 'right for bob' })
  await new Promise((resolve) => setImmediate(resolve))
  state.credentialVersion = 'second'
  logins.forget('bob')
  open()
  const checked = await checking
  t.equal(checked.ok && checked.isCurrent('a'), false)
  const login = await logins.login('a', { username: 'bob', password: 'right for bob' })
  t.equal(login.ok && login.isCurrent('a'), true)
  logins.forget('bob')
  t.equal(login.ok && login.isCurrent('a'), false)
  await logins.login('a', { username: 'bob', password: 'right for bob' })
  t.equal(state.checks, 3)
})

t.test('parts of the password moved into the name are other credentials', async (t) => {
  const { logins } = createLogins()
  t.match(await logins.login('a', { username: 'bob', password: 'right for bob' }), { ok: true })
  t.match(await logins.login('a', { username: 'bobright', password: ' for bob' }), { reason: 'wrong' })
  t.match(await logins.login('a', { username: 'bo', password: 'bright for bob' }), { reason: 'wrong' })
})

t.test(
  'each further failure blocks twice as long, at most one minute, and no password is checked meanwhile',
  async (t) => {
    const { time, logins, state } = createLogins()
    for (let turn = 0; turn < 3; turn++)
      t.match(await logins.login('a', { username: 'bob', password: 'x' }), { reason: 'wrong' })
    const blocks: number[] = []
    for (let turn = 0; turn < 8; turn++) {
      const blocked = await logins.login('a', { username: 'bob', password: 'x' })
      if (blocked.ok || blocked.reason !== 'blocked') throw new Error('not blocked')
      blocks.push(blocked.retryAfterMs)
      time.now += blocked.retryAfterMs
      t.match(await logins.login('a', { username: 'bob', password: 'x' }), { reason: 'wrong' }, 'one more guess')
    }
    t.same(blocks.slice(0, 4), [1000, 2000, 4000, 8000])
    t.ok(Math.max(...blocks) <= 60_000)
    t.equal(state.checks, 11)
    time.now += 60_000
    t.match(await logins.login('a', { username: 'bob', password: 'right for bob' }), { ok: true })
    t.match(
      await logins.login('a', { username: 'bob', password: 'x' }),
      { reason: 'wrong' },
      'a success clears the failures',
    )
  },
)

t.test('a login that finds the queue full is busy at once, and is no failure', async (t) => {
  const { gate, open } = createGate()
  const { logins, state } = createLogins({ gates: [gate], maxQueued: 1 })
  const pending = [
    logins.login('a', { username: 'bob', password: 'right for bob' }),
    logins.login('b', { username: 'carol', password: 'right for carol' }),
  ]
  for (let turn = 0; turn < 5; turn++)
    t.match(await logins.login('c', { username: 'dave', password: 'x' }), {
      ok: false,
      reason: 'busy',
      retryAfterMs: 1000,
    })
  open()
  t.match(await Promise.all(pending), [{ ok: true }, { ok: true }])
  t.equal(state.checks, 2)
  t.match(await logins.login('c', { username: 'dave', password: 'right for dave' }), { ok: true }, 'not blocked')
})

t.test('a login that finds the queue full learns when those before it have begun', async (t) => {
  const gates = Array.from({ length: 4 }, createGate)
  const { logins, time, state } = createLogins({ gates: gates.map(({ gate }) => gate), maxQueued: 3 })
  const pending = Array.from({ length: 4 }, (_, at) => logins.login(`${at}`, { username: `user ${at}`, password: 'x' }))
  await eventually(async () => state.checks === 1)
  time.now += 5_000
  gates[0]?.open()
  await eventually(async () => state.checks === 2)
  pending.push(logins.login('4', { username: 'user 4', password: 'x' }))
  t.match(await logins.login('5', { username: 'user 5', password: 'x' }), {
    ok: false,
    reason: 'busy',
    retryAfterMs: 15_000,
  })
  for (const { open } of gates) open()
  await Promise.all(pending)
})

t.test('unknown users cannot fill the queue of known users, whose checks run first', async (t) => {
  const { gate, open } = createGate()
  const { logins, state } = createLogins({ gates: [Promise.resolve(), Promise.resolve(), gate] })
  await logins.login('a', { username: 'bob', password: 'right for bob' })
  logins.forget('bob')
  await logins.login('b', { username: 'zero', password: 'x' })
  const unknown = ['one', 'two', 'three'].map((name) => logins.login('b', { username: name, password: 'x' }))
  t.match(
    await logins.login('b', { username: 'four', password: 'x' }),
    { reason: 'busy' },
    'the queue of unknown users is full',
  )
  const known = logins.login('a', { username: 'bob', password: 'right for bob' })
  await new Promise((resolve) => setImmediate(resolve))
  open()
  await Promise.all([...unknown, known])
  t.same(state.names, ['bob', 'zero', 'one', 'bob', 'two', 'three'])
})
