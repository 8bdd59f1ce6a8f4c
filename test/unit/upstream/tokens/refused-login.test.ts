/** Refused credentials: remembered for a while, so that the node does not block the address of the edge. */
import t from 'tap'
import { get, put } from '../fake-node.ts'
import { as, outcomeOf, startTokenTest } from './v4-node.ts'

const MINUTE = 60_000

t.test('a wrong password of the edge: less than 12 logins in 300 s, whatever the number of calls', async (t) => {
  const { node, calls, time, logged } = await startTokenTest(t, {
    mode: 'service',
    username: 'edge',
    password: 'wrong',
  })
  for (; time.now < 5 * MINUTE; time.now += 500) {
    t.match(await calls.call(put()), { fault: 'refusedCredentials', sent: false })
  }
  t.ok(node.logins.length > 4 && node.logins.length < 12, `${node.logins.length} logins`)
  t.notMatch(logged.join(), /wrong/)
})

t.test('corrected credentials are used at once', async (t) => {
  const { calls, use } = await startTokenTest(t, { mode: 'service', username: 'edge', password: 'wrong' })
  t.equal(outcomeOf(await calls.call(get())), 'refusedCredentials')
  use({ mode: 'service', username: 'edge', password: 'pass' })
  t.equal(outcomeOf(await calls.call(get())), 200)
})

t.test('after many corrections of the password of the edge, the right one is used at once', async (t) => {
  const { calls, use } = await startTokenTest(t)
  for (let turn = 0; turn < 20; turn += 1) {
    use({ mode: 'service', username: 'edge', password: `wrong-${turn}` })
    t.equal(outcomeOf(await calls.call(get())), 'refusedCredentials')
  }
  use({ mode: 'service', username: 'edge', password: 'pass' })
  t.equal(outcomeOf(await calls.call(get())), 200)
})

t.test('a wrong password of a caller is refused from memory, and the right one is not', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  for (let turn = 0; turn < 5; turn += 1) {
    t.equal(outcomeOf(await calls.call(get('/agents', as('edge', 'wrong')))), 'refusedCredentials')
  }
  t.equal(node.logins.length, 1)
  t.equal(outcomeOf(await calls.call(get('/agents', as('edge', 'pass')))), 200)
})

t.test('eight wrong passwords for one name in 300 s block this name only', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  node.passwords.set('other', 'pass')
  for (let turn = 0; turn < 8; turn += 1) {
    t.equal(outcomeOf(await calls.call(get('/agents', as('edge', `wrong-${turn}`)))), 'refusedCredentials')
  }
  const blocked = await calls.call(get('/agents', as('edge', 'pass')))
  t.match(blocked, { fault: 'loginsBlocked', sent: false })
  t.ok(!blocked.ok && (blocked.retryAfter ?? 0) > 280 && (blocked.retryAfter ?? 0) <= 300)
  t.equal(outcomeOf(await calls.call(get('/agents', as('other', 'pass')))), 200)
  t.equal(node.logins.length, 9)
  time.now += 5 * MINUTE
  t.equal(outcomeOf(await calls.call(get('/agents', as('edge', 'pass')))), 200)
})

t.test('failures of many addresses end the logins, but not the sessions', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  const good = get('/agents', as('edge', 'pass'))
  t.equal(outcomeOf(await calls.call(good)), 200)
  for (let turn = 0; turn < 60; turn += 1) {
    await calls.call({ ...get('/agents', as(`guess-${turn}`, 'wrong')), clientAddress: `address-${turn}` })
  }
  const failed = () => node.logins.filter(({ accepted }) => !accepted).length
  t.equal(failed(), 34)
  t.match(await calls.call(get('/agents', as('new', 'pass'))), { fault: 'loginsBlocked', retryAfter: Number })
  t.equal(outcomeOf(await calls.call(good)), 200)
  node.revoke()
  t.equal(outcomeOf(await calls.call(good)), 200, 'an account that the node accepted before may log in again')
  time.now += 5 * MINUTE
  node.passwords.set('new', 'pass')
  t.equal(outcomeOf(await calls.call(get('/agents', as('new', 'pass')))), 200)
})

t.test('logins that were queued before the limit was reached are not sent after it', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  const guess = (at: number) =>
    calls.call({
      ...get('/agents', { ...as(`guess-${at}`, 'wrong'), timeout: 200_000 }),
      clientAddress: `address-${at}`,
    })
  const outcomes = (await Promise.all(Array.from({ length: 60 }, (_, at) => guess(at)))).map(outcomeOf)
  t.equal(node.logins.length, 34)
  t.equal(outcomes.filter((outcome) => outcome === 'loginsBlocked').length, 26)
})

t.test('whatever callers do, less than 50 logins fail in any 300 s', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  const names = Array.from({ length: 20 }, (_, at) => `user-${at}`)
  for (const name of names) node.passwords.set(name, 'pass')
  for (const name of names) await calls.call(get('/agents', as(name, 'pass')))
  for (const name of names) node.passwords.set(name, 'changed')
  node.revoke()
  for (let turn = 0; time.now < 15 * MINUTE; turn += 1) {
    await calls.call(get('/agents', as(names[turn % 20] ?? '', 'pass')))
    await calls.call(get('/agents', as(`guess-${turn % 50}`, `wrong-${turn}`)))
    time.now += 500
  }
  const times = node.logins.filter(({ accepted }) => !accepted).map(({ at }) => at)
  const most = Math.max(...times.map((end) => times.filter((at) => at <= end && at > end - 300_000).length))
  t.ok(times.length > 40 && most < 50, `${most} of ${times.length} failed logins in 300 s`)
})
