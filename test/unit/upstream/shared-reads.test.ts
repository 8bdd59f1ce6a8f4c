/** Within the calls of one user at one address, a read that several interactive clients await comes first. */

import t from 'tap'
import { SharedPresence } from '../../../src/cache/shared-presence.ts'
import { Presence } from '../../../src/core/presence.ts'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import type { ConcurrencyLimiter } from '../../../src/upstream/limiter.ts'
import { Agenda, createLimiter, deadlineIn, flowOf, settled } from './limiter-simulation.ts'

interface Rig {
  readonly limiter: ConcurrencyLimiter
  readonly order: string[]
  ask(name: string, flow: string, presence?: SharedPresence): Promise<void>
  /** Ends the calls one after the other. */
  drain(): Promise<readonly string[]>
}

function rig(): Rig {
  let now = 0
  const agenda = new Agenda()
  const limiter = createLimiter(
    () => ({ inFlight: 1, queue: 1000 }),
    () => now,
  )
  const order: string[] = []
  const running: LimitedCall[] = []
  return {
    limiter,
    order,
    async ask(name, flow, presence) {
      const call: LimitedCall = {
        priority: 'interactive',
        caller: 'ann',
        flow: flowOf(flow),
        endpoint: `GET /${name}`,
        ...(presence !== undefined && { presence }),
      }
      const deadline = deadlineIn(60_000, () => now, agenda)
      void Promise.resolve(limiter.acquire(call, deadline)).then((slot) => {
        if (!slot.ok) throw new Error(slot.reason)
        order.push(name)
        running.push(call)
      })
      await settled()
    },
    async drain() {
      for (let call = running.shift(); call !== undefined; call = running.shift()) {
        now += 100
        limiter.release(call, now - 100, 'success')
        await settled()
      }
      return order
    },
  }
}

/** A presence with interactive clients and bulk ones. */
function clients(interactive: number, bulk = 0): SharedPresence {
  const presence = new SharedPresence()
  for (let at = 0; at < interactive; at += 1) presence.join(new Presence())
  for (let at = 0; at < bulk; at += 1) presence.join(new Presence(), true)
  return presence
}

/** The presence of a refresh that no client awaits. */
function refresh(): SharedPresence {
  const presence = new SharedPresence()
  presence.pin()
  return presence
}

const QUEUED = Array.from({ length: 8 }, (_, at) => `own${at}`)

async function orderWith(shared: SharedPresence, whileQueued?: () => void): Promise<readonly string[]> {
  const { ask, drain } = rig()
  await ask('first', 'ann 127.0.0.1 0')
  for (const [at, name] of QUEUED.entries()) await ask(name, `ann 127.0.0.1 ${at + 1}`, clients(1))
  await ask('shared', 'ann 127.0.0.1 99', shared)
  whileQueued?.()
  return drain()
}

t.test('a read of two interactive clients comes first', async (t) => {
  t.strictSame(await orderWith(clients(2)), ['first', 'shared', ...QUEUED])
})

t.test('so does one that a second client joins while it waits', async (t) => {
  const presence = clients(1)
  t.strictSame(await orderWith(presence, () => presence.join(new Presence())), ['first', 'shared', ...QUEUED])
})

t.test('a read of one interactive client and of bulk ones waits for its turn', async (t) => {
  t.strictSame(await orderWith(clients(1, 5)), ['first', ...QUEUED, 'shared'])
  t.strictSame(await orderWith(clients(0, 5)), ['first', ...QUEUED, 'shared'])
})

t.test('a read of a bulk client comes after all others of its user', async (t) => {
  const { ask, drain } = rig()
  await ask('first', 'ann 127.0.0.1 0')
  await ask('bulk', 'ann 127.0.0.1 1+')
  for (const [at, name] of QUEUED.entries()) await ask(name, `ann 127.0.0.1 ${at + 2}`)
  t.strictSame(await drain(), ['first', ...QUEUED, 'bulk'])
})

t.test(
  'a read that a bulk client began comes before those of others once an interactive client joins it',
  async (t) => {
    const orderOf = async (isJoinedByBulk: boolean) => {
      const { ask, drain } = rig()
      await ask('first', 'ann 127.0.0.1 0')
      const presence = clients(0, 1)
      await ask('bulk', 'ann 127.0.0.1 1+', presence)
      for (const [at, name] of QUEUED.entries()) await ask(name, `ann 127.0.0.1 ${at + 2}`)
      presence.join(new Presence(), isJoinedByBulk)
      return drain()
    }
    t.strictSame(await orderOf(false), ['first', 'bulk', ...QUEUED])
    t.strictSame(await orderOf(true), ['first', ...QUEUED, 'bulk'])
  },
)

t.test('so does a refresh, once a client waits for it because the stored response is too old', async (t) => {
  const { ask, drain } = rig()
  await ask('first', 'ann 127.0.0.1 0')
  for (const name of QUEUED) await ask(name, 'ann 127.0.0.1 1', refresh())
  const presence = refresh()
  await ask('shared', 'ann 127.0.0.1 2', presence)
  presence.join(new Presence())
  // Refreshes take turns with the clients.
  t.ok((await drain()).indexOf('shared') <= 3)
})

t.test('so does a part of a joined refresh, or of a joined read of a bulk client', async (t) => {
  for (const isBulk of [false, true]) {
    const [whole, part] = [isBulk ? clients(0, 1) : refresh(), new SharedPresence()]
    part.join(whole, isBulk)
    const isFirst = (order: readonly string[]) => order.indexOf('shared') === 1
    t.ok(isFirst(await orderWith(part, () => whole.join(new Presence()))), 'while it waits')
    const late = new SharedPresence()
    late.join(whole, isBulk)
    t.ok(isFirst(await orderWith(late)), 'before it began')
  }
})

t.test('a part that an interactive client awaits through its read is awaited until it leaves', async (t) => {
  const [read, part] = [new SharedPresence(), new SharedPresence()]
  read.join(new Presence(), true)
  const leave = part.join(read, true)
  t.notOk(part.isInteractive)
  read.join(new Presence())
  t.ok(part.isInteractive && part.isUrgent)
  leave()
  t.notOk(part.isInteractive)
})

t.test('a bulk read that an interactive client joins takes a slot which bulk reads may not use', async (t) => {
  const limiter = createLimiter(
    () => ({ inFlight: 4, queue: 100 }),
    () => 0,
  )
  const started: string[] = []
  const ask = async (name: string, presence: SharedPresence) => {
    const call = { priority: 'interactive', caller: 'ann', flow: flowOf(name), endpoint: 'GET /', presence }
    const deadline = deadlineIn(60_000, () => 0, new Agenda())
    void Promise.resolve(limiter.acquire(call as LimitedCall, deadline)).then(() => started.push(name))
    await settled()
  }
  await ask('bob 127.0.0.1 0', clients(1))
  const bulk = ['ann 127.0.0.1 1+', 'ann 127.0.0.1 2+', 'ann 127.0.0.1 3+']
  const joined = clients(0, 1)
  for (const name of bulk) await ask(name, name === bulk.at(-1) ? joined : clients(0, 1))
  t.equal(started.length, 3, 'half of the slots')
  joined.join(new Presence())
  await settled()
  t.equal(started.at(-1), bulk.at(-1))
})
