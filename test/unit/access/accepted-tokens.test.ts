/** How many calls to the node the tokens of the manager's users cost, and that no token counts as accepted that is not. */
import t from 'tap'
import { AcceptedTokens } from '../../../src/access/accepted-tokens.ts'
import { createEndedTokens } from '../../../src/access/ended-tokens.ts'
import { createRecheckPace } from '../../../src/access/recheck-pace.ts'
import { createRevocationList } from '../../../src/access/revocations.ts'
import type { ClaimedToken } from '../../../src/access/stored-acceptances.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { EdgeError } from '../../../src/core/errors.ts'

const SECOND = 1000

interface Options {
  readonly recheck?: number
  readonly recheckMax?: number
  readonly perMinute?: number
  readonly outage?: boolean
  /** Reads wait for the calls per minute. */
  readonly isBusy?: boolean
}

/** A node that has issued some tokens, and ends those of a user that are older than a moment. */
function withNode({ recheck = 10, recheckMax = 600, perMinute = 300, outage = false, isBusy = false }: Options = {}) {
  let now = 0
  const clock = { elapsed: () => now, wall: () => 1_000_000 * SECOND + now }
  const store = createMemoryStore({ bytes: () => 64 * 1024 * 1024, elapsed: clock.elapsed })
  const pace = createRecheckPace({
    recheck: () => recheck * SECOND,
    recheckMax: () => recheckMax * SECOND,
    perMinute: () => perMinute,
    isBusy: () => isBusy,
    replicas: () => 1,
    clock,
  })
  const revocations = createRevocationList(clock)
  const { hasEnded } = createEndedTokens(revocations, clock)
  const tokens = new AcceptedTokens({
    store,
    secret: () => 'secret',
    pace,
    clock,
    hasEnded,
    hasOutageMode: () => outage,
  })
  const issued = new Set<string>()
  const endedBefore = new Map<string, number>()
  const asked: string[] = []
  let isDown = false
  let fault: string | undefined
  /** Issued in this second since 1970. */
  const token = (user: string, second: number, roles = '1'): ClaimedToken => ({
    text: `${user} ${roles} ${second}`,
    node: 'master',
    user,
    roles: [Number(roles)],
    series: `${user} ${roles}`,
    issuedAt: second * SECOND,
    expiresAt: clock.wall() + 900 * SECOND,
  })
  const issue = (user: string, second: number, roles?: string): ClaimedToken => {
    const made = token(user, second, roles)
    issued.add(made.text)
    return made
  }
  const accept = async (of: ClaimedToken) => {
    const ask =
      (kind: string) =>
      async (isAwaited = true) => {
        asked.push(`${kind} ${of.text}${isAwaited ? '' : ', in the background'}`)
        // The answer comes in a later turn.
        await new Promise((resolve) => setImmediate(resolve))
        if (fault !== undefined) throw new EdgeError(920, '', { cause: { fault } })
        if (isDown) throw new Error('down')
        return issued.has(of.text) && of.issuedAt >= (endedBefore.get(of.user) ?? 0) * SECOND
      }
    return tokens.check(of, { ask: ask('known'), askOfUnknown: ask('unknown') })
  }
  const check = async (of: ClaimedToken): Promise<boolean> => (await accept(of)) !== undefined
  return {
    tokens,
    /** Returns the times of a login that many milliseconds ago. */
    loginAgo: (ms: number) => ({ acceptedAgo: ms, issuedAt: clock.wall() - ms }),
    revocations,
    clock,
    store,
    pace,
    issue,
    token,
    check,
    asked,
    endedBefore,
    /** Moves the clock by seconds. */
    pass: (seconds: number) => {
      now += seconds * SECOND
    },
    accept,
    /** Calls fail for this reason. */
    setFault: (why: string | undefined) => {
      fault = why
    },
    setDown: (down: boolean) => {
      isDown = down
    },
    /** Returns how many calls the work made. */
    callsOf: async (work: () => Promise<unknown>) => {
      const before = asked.length
      await work()
      return asked.length - before
    },
  }
}

t.test('one check decides for all genuine tokens of a series', async (t) => {
  const { issue, check, pass, callsOf } = withNode()
  const many = Array.from({ length: 1000 }, (_, nth) => issue('ann', nth))
  const checkAll = () => Promise.all(many.map(check))
  t.equal(await callsOf(checkAll), 1000, 'the signature of each token is checked once')
  t.equal(await callsOf(checkAll), 0)
  for (let round = 0; round < 5; round += 1) {
    pass(11)
    const shuffled = [...many].sort(() => Math.random() - 0.5)
    const calls = await callsOf(() => Promise.all(shuffled.map(check)))
    t.ok(calls <= 2, `${calls} calls`)
  }
})

t.test('while reads wait for calls, a check is awaited by no request and goes after them', async (t) => {
  const { issue, check, pass, asked } = withNode({ isBusy: true })
  const token = issue('ann', 1)
  await check(token)
  pass(11)
  t.equal(await check(token), true)
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(asked, [`unknown ${token.text}`, `known ${token.text}, in the background`])
})

t.test('a token that the node has never accepted is asked for by itself, whatever its claims are', async (t) => {
  const { issue, token, check, asked } = withNode()
  t.equal(await check(issue('ann', 5)), true)
  const forged = { ...token('ann', 5), text: 'forged' }
  t.equal(await check(forged), false)
  t.equal(await check({ ...token('ann', 9), text: 'forged, younger' }), false)
  t.strictSame(asked.slice(1), ['unknown forged', 'unknown forged, younger'])
})

t.test('the acceptance of a younger token says nothing about an older one', async (t) => {
  const { issue, check, pass, endedBefore, asked } = withNode()
  const [old, young] = [issue('ann', 1), issue('ann', 5)]
  t.same(await Promise.all([check(old), check(young)]), [true, true])
  pass(11)
  endedBefore.set('ann', 3)
  t.equal(await check(young), true)
  t.equal(await check(old), false)
  t.same(asked.slice(2), [`known ${young.text}`, `known ${old.text}`])
  t.equal(await check(old), false, 'the refusal is remembered')
  t.equal(asked.length, 4)
  t.equal(await check(young), true)
})

t.test('other users, roles and claims are other series', async (t) => {
  const { issue, check, pass, callsOf } = withNode()
  const all = [issue('ann', 1), issue('bob', 1), issue('ann', 1, '2')]
  for (const each of all) await check(each)
  pass(11)
  t.equal(await callsOf(() => Promise.all(all.map(check))), 3)
})

t.test('a write to the rights of users ends all acceptances, a log-out those of the user', async (t) => {
  const { issue, check, store, callsOf, endedBefore } = withNode()
  const [ann, bob] = [issue('ann', 1), issue('bob', 1)]
  for (const each of [ann, bob]) await check(each)
  await (await store.fence(['tokens:ann'])).lift([])
  t.equal(await callsOf(() => check(bob)), 0)
  endedBefore.set('ann', 2)
  t.equal(await check(ann), false)
  await (await store.fence(['rights'])).lift([])
  t.equal(await callsOf(() => check(bob)), 1)
})

t.test('a check that began before a write does not count after it', async (t) => {
  const { tokens, issue, store } = withNode()
  const ann = issue('ann', 1)
  let answer: (isAccepted: boolean) => void = () => undefined
  const slow = () => new Promise<boolean>((resolve) => (answer = resolve))
  const first = tokens.check(ann, { ask: slow, askOfUnknown: slow })
  await new Promise((resolve) => setImmediate(resolve))
  await (await store.fence(['rights'])).lift([])
  const refuse = async () => false
  const second = tokens.check(ann, { ask: refuse, askOfUnknown: refuse })
  await new Promise((resolve) => setImmediate(resolve))
  answer(true)
  t.not(await first, undefined, 'the request came before the write')
  t.equal(await second, undefined)
  t.equal(await tokens.check(ann, { ask: refuse, askOfUnknown: refuse }), undefined)
})

t.test('an answer to a call with the token is a check', async (t) => {
  const { tokens, issue, check, pass, callsOf } = withNode()
  const ann = issue('ann', 1)
  const never = async () => t.fail('no check is needed')
  const acceptance = await tokens.check(ann, { ask: async () => true, askOfUnknown: async () => true })
  for (let round = 0; round < 10; round += 1) {
    pass(7)
    const noteAnswer = acceptance?.current()
    t.type(noteAnswer, 'function')
    noteAnswer?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.not(await tokens.check(ann, { ask: never as never, askOfUnknown: never as never }), undefined)
  pass(11)
  t.equal(acceptance?.current(), undefined)
  t.equal(await callsOf(() => check(ann)), 1)
})

t.test('a token of a login is accepted, unless rights have changed during the login', async (t) => {
  const { tokens, issue, check, store, pass, callsOf, loginAgo } = withNode()
  const ann = issue('ann', 1)
  await tokens.beginLogin('ann')
  pass(1)
  await tokens.noteIssued(ann, loginAgo(500))
  t.equal(await callsOf(() => check(ann)), 0)
  const bob = issue('bob', 1)
  await tokens.beginLogin('bob')
  pass(1)
  await (await store.fence(['rights'])).lift([])
  await tokens.noteIssued(bob, loginAgo(500))
  t.equal(await callsOf(() => check(bob)), 1)
  const eve = issue('eve', 1)
  await tokens.beginLogin('eve')
  await tokens.noteIssued(eve, loginAgo(5000))
  t.equal(await callsOf(() => check(eve)), 1, 'the token is older than the login')
})

t.test(
  'with many users the checks stay within a third of the calls per minute, and no acceptance is too old',
  async (t) => {
    const { issue, check, pass, callsOf, pace, endedBefore } = withNode()
    const users = Array.from({ length: 200 }, (_, nth) => issue(`user${nth}`, 1))
    await Promise.all(users.map(check))
    for (let minute = 0; minute < 4; minute += 1) {
      const calls = await callsOf(async () => {
        for (let second = 0; second < 60; second += 1) {
          pass(1)
          for (const user of users) await check(user)
        }
      })
      t.ok(calls <= 120, `minute ${minute}: ${calls} calls`)
    }
    t.ok(pace.interval() >= 115 * SECOND && pace.interval() <= 125 * SECOND, `${pace.interval()}`)
    // Ended past the edge: noticed within the interval.
    endedBefore.set('user7', 2)
    let seconds = 0
    for (; seconds <= 600 && (await check(users[7] as ClaimedToken)); seconds += 1) {
      pass(1)
      for (const user of users) if (user !== users[7]) await check(user)
    }
    t.ok(seconds <= 130, `${seconds} s`)
  },
)

t.test('after the longest time, an acceptance ends also while the node does not answer', async (t) => {
  const { issue, check, pass, setDown } = withNode({ recheckMax: 60 })
  const ann = issue('ann', 1)
  await check(ann)
  setDown(true)
  pass(30)
  t.equal(await check(ann), true)
  pass(31)
  await t.rejects(check(ann), { message: 'down' })
})

t.test('without a time between checks, each request is a check', async (t) => {
  const { issue, check, callsOf } = withNode({ recheck: 0 })
  const ann = issue('ann', 1)
  await check(ann)
  t.equal(await callsOf(() => check(ann)), 1)
  t.equal(await callsOf(() => check(ann)), 1)
})

t.test(
  'a token that was issued before its end is refused without a call, a later login is good, whatever the clock of the node is',
  async (t) => {
    for (const nodeLate of [-3_600, 0, 3_600]) {
      const { tokens, issue, check, loginAgo, pass, revocations, clock, callsOf, asked } = withNode()
      // The time of issue by the clock of the node, in seconds.
      const nbf = () => Math.floor(clock.wall() / SECOND) - nodeLate
      const [login, seen] = [issue('ann', nbf()), issue('ann', nbf(), '2')]
      await tokens.beginLogin('ann')
      await tokens.noteIssued(login, loginAgo(0))
      for (const token of [login, seen]) t.equal(await check(token), true)
      const asking = () => ({ ask: async () => true, askOfUnknown: async () => true })
      const acceptance = await tokens.check(login, asking())
      t.not(acceptance?.current(), undefined)
      pass(2)
      await revocations.revokeUpTo('manager user', 'ann', clock.wall(), clock.wall() + 900 * SECOND)
      t.equal(acceptance?.current(), undefined, 'the next request is not answered without a check')
      const before = asked.length
      for (const token of [login, seen]) t.equal(await check(token), false)
      t.equal(asked.length, before, 'the node is not asked')
      pass(2)
      const next = issue('ann', nbf(), '3')
      await tokens.beginLogin('ann')
      await tokens.noteIssued(next, loginAgo(0))
      t.equal(await callsOf(async () => t.equal(await check(next), true)), 0)
    }
  },
)

t.test('in outage mode, an accepted token stays good for reads until it expires', async (t) => {
  const { issue, token, accept, pass, setFault, store } = withNode({ outage: true, recheckMax: 60 })
  const ann = issue('ann', 1)
  const bob = issue('bob', 1)
  for (const each of [ann, bob]) t.match(await accept(each), { isOnlyForReads: undefined })
  pass(300)
  setFault('overloaded')
  await t.rejects(accept(ann), { code: 920 }, 'a node that is overloaded answers')
  for (const fault of ['ejected', 'unreachable']) {
    setFault(fault)
    t.match(await accept(ann), { isOnlyForReads: true }, fault)
  }
  await t.rejects(accept({ ...token('ann', 1), text: 'forged' }), { code: 920 }, 'a token that was never accepted')
  await (await store.fence(['tokens:bob'])).lift([])
  await t.rejects(accept(bob), { code: 920 }, 'a change may have ended it')
  setFault(undefined)
  t.match(await accept(ann), { isOnlyForReads: undefined })
  setFault('ejected')
  pass(601)
  await t.rejects(accept(ann), { code: 920 }, 'it has expired')
})

t.test('without outage mode, a token is refused after its recheck', async (t) => {
  const { issue, accept, pass, setFault } = withNode({ recheckMax: 60 })
  const ann = issue('ann', 1)
  await accept(ann)
  pass(300)
  setFault('ejected')
  await t.rejects(accept(ann), { code: 920 })
})
