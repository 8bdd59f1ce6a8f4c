import t from 'tap'
import { basic, bearer, passwords, startEdge, tokenOf } from './edge.ts'

t.test('password guessing is slowed down for its address, and the user can log in from another address', async (t) => {
  // The clock does not advance, so that no block ends during the attack.
  const edge = await startEdge(t, { clock: { wall: () => Date.now(), elapsed: () => 1 } })
  const attackers = ['10.0.0.1', '10.0.0.2', '10.0.0.3']
  const guess = (index: number) => edge.ask([basic('bob', `guess ${index}`), `X-Address: ${attackers[index % 3]}`])
  let attacking = true
  const attack = (async () => {
    const statuses: number[] = []
    // The logins may be over before each attacker has guessed five times.
    for (let round = 0; attacking || !statuses.includes(429); round++) {
      const replies = await Promise.all(Array.from({ length: 12 }, (_, index) => guess(round * 12 + index)))
      statuses.push(...replies.map(({ status }) => status))
    }
    return statuses
  })()
  for (let turn = 0; turn < 20; turn++) {
    const reply = await edge.ask([basic('bob', passwords.bob), `X-Address: 192.0.2.${turn}`])
    t.equal(reply.status, 200, `the right password, login ${turn}`)
  }
  attacking = false
  const statuses = await attack
  t.equal(statuses.filter((status) => status === 401).length, 15, 'five guesses for each address, however parallel')
  t.ok(statuses.includes(429))
  const reply = await edge.ask([basic('bob', passwords.bob), 'X-Address: 10.0.0.1'])
  t.equal(reply.status, 429, 'the right password from a blocked address is refused as well')
  t.equal(JSON.parse(reply.text).error, 904)
  t.match(reply.headers['retry-after'], /^[1-9]\d*$/)
})

t.test('an address that tries many names is blocked for all of them, except for remembered credentials', async (t) => {
  const edge = await startEdge(t, { limits: { failedLogins: () => 1 } })
  t.equal((await edge.ask([basic('alice', passwords.alice)])).status, 200)
  for (let index = 0; index < 10; index++) await edge.ask([basic(`name${index}`, 'x')])
  t.equal((await edge.ask([basic('bob', passwords.bob)])).status, 429)
  t.equal((await edge.ask([basic('alice', passwords.alice)])).status, 200, 'remembered credentials are accepted')
  t.equal((await edge.ask([basic('bob', passwords.bob), 'X-Address: 10.0.0.9'])).status, 200)
})

t.test('forty parallel requests with the same credentials are one login', async (t) => {
  const edge = await startEdge(t, { limits: { failedLogins: () => 1 } })
  const right = await Promise.all(Array.from({ length: 40 }, () => edge.ask([basic('bob', passwords.bob)])))
  t.same(new Set(right.map(({ status }) => status)), new Set([200]))
})

t.test('the rate limit applies to each caller, with password or token', async (t) => {
  const edge = await startEdge(t, { limits: { failedLogins: () => 5, perCaller: { max: () => 4, windowMs: 60_000 } } })
  const token = await tokenOf(edge, 'bob')
  const credentials = [basic('bob', passwords.bob), bearer(token), bearer(token)]
  for (const line of credentials) t.equal((await edge.ask([line])).status, 200)
  const over = await edge.ask([basic('bob', passwords.bob), 'X-Address: 10.0.0.1'])
  t.equal(over.status, 429)
  t.equal(JSON.parse(over.text).error, 903)
  t.match(over.headers, {
    'ratelimit-limit': '4',
    'ratelimit-remaining': '0',
    'ratelimit-reset': /^\d+$/,
    'retry-after': /^\d+$/,
  })
  t.equal((await edge.ask([basic('alice', passwords.alice)])).status, 200, 'another caller')
})

t.test(
  'the rate limit applies to each address before authentication; an IPv6 /64 network counts as one address',
  async (t) => {
    const edge = await startEdge(t, {
      limits: { failedLogins: () => 5, perAddress: { max: () => 3, windowMs: 60_000 } },
    })
    const from = (address: string) => edge.ask(['Authorization: Bearer junk', `X-Address: ${address}`])
    for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8::ffff']) t.equal((await from(address)).status, 401)
    t.equal((await from('2001:db8::4')).status, 429)
    t.equal((await from('2001:db8:0:1::1')).status, 401, 'another network')
  },
)
