/** Calls that wait for a node while their clients leave. */

import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { SharedPresence } from '../../../src/cache/shared-presence.ts'
import type { NodeCall } from '../../../src/core/node-call.ts'
import { Presence, type PresenceState } from '../../../src/core/presence.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get } from './fake-node.ts'

const ABANDONED = { ok: false, fault: 'abandoned', sent: false, retryAfter: 1 }

/** A node with one slot, which is taken. `respond` answers the oldest call that the node holds. */
async function busyNode(t: Test) {
  const waiting: ServerResponse[] = []
  const node = await fakeNode(t, (_, response) => void waiting.push(response))
  const cluster = clusterOf(t, node.url, { limits: { inFlight: 1, queue: 3 } })
  const held = cluster.call(get('/held'))
  await eventually(() => waiting.length === 1)
  const respond = async () => {
    await eventually(() => waiting.length > 0)
    const response = waiting.shift()
    if (response) envelope(response.req, response)
  }
  const call = (path: string, more: Partial<NodeCall> = {}, state: PresenceState = 'connected') => {
    const presence = new Presence()
    presence.set(state)
    return { presence, result: cluster.call(get(path, { presence, ...more })) }
  }
  const seen = () => node.seen.map(({ url }) => url).filter((url) => url !== '/held')
  return {
    cluster,
    call,
    respond,
    seen,
    end: () => Promise.all([respond(), held]),
    queue: () => cluster.status()[0]?.queue,
  }
}

t.test('a call is dropped as soon as its client has left, whatever its method', async (t) => {
  const { call, end, seen, queue } = await busyNode(t)
  const read = call('/read')
  const write = call('/write', { method: 'PUT', priority: 'write' })
  t.equal(queue(), 2)
  read.presence.set('left')
  write.presence.set('left')
  t.equal(queue(), 0)
  t.match(await Promise.all([read.result, write.result]), [ABANDONED, ABANDONED])
  t.match(await call('/late', {}, 'left').result, ABANDONED)
  await end()
  t.match(await call('/late', {}, 'left').result, ABANDONED, 'also while a slot is free')
  t.same(seen(), [])
})

t.test('a call whose client has closed its side comes behind those of all priorities', async (t) => {
  const { call, end, respond, seen } = await busyNode(t)
  const [closed, back] = [call('/closed', { priority: 'health' }), call('/back')]
  const bulk = call('/bulk', { priority: 'bulk' })
  closed.presence.set('halfClosed')
  back.presence.set('halfClosed')
  back.presence.set('connected')
  await end()
  for (const { result } of [back, bulk, closed]) {
    await respond()
    t.match(await result, { ok: true })
  }
  t.same(seen(), ['/back', '/bulk', '/closed'])
})

t.test('after a second, or in a full queue, a call whose client has closed its side is dropped', async (t) => {
  const { call, end, respond, queue } = await busyNode(t)
  t.match(await call('/closed', {}, 'halfClosed').result, ABANDONED)
  const displaced = call('/displaced', {}, 'halfClosed')
  const connected = ['/1', '/2', '/3'].map((path) => call(path))
  t.match(await displaced.result, { ok: false, fault: 'overloaded' })
  t.equal(queue(), 3)
  t.match(await call('/closed', {}, 'halfClosed').result, ABANDONED)
  await end()
  for (const { result } of connected) {
    await respond()
    t.match(await result, { ok: true })
  }
})

t.test('a call that waits behind others which the node passes on is dropped as well', async (t) => {
  const node = await fakeNode(t, () => undefined)
  const cluster = clusterOf(t, node.url, { limits: { inFlight: 2 } })
  const presence = new Presence()
  const call = (path: string) => cluster.call(get(path, { presence, passedOnTo: { node: 'worker-1' } }))
  // Half of the slots are for such calls.
  void call('/sent')
  await eventually(() => node.seen.length === 1)
  const waiting = call('/waiting')
  await new Promise(setImmediate)
  presence.set('left')
  t.match(await waiting, ABANDONED)
  t.equal(node.seen.length, 1)
})

t.test('work is awaited while one of those that share it is connected', async (t) => {
  const shared = new SharedPresence()
  const states: PresenceState[] = []
  shared.onChange(() => states.push(shared.state))
  const [one, other, third] = [new Presence(), new Presence(), new Presence()]
  const leave = shared.join(one)
  shared.join(other)
  one.set('halfClosed')
  other.set('left')
  shared.join(third)
  third.set('left')
  leave()
  t.same(states, ['halfClosed', 'connected', 'halfClosed', 'left'])
  one.set('connected')
  t.equal(shared.state, 'left', 'who has left does not count')
  shared.join(undefined)
  t.equal(shared.state, 'connected', 'work of the edge is always awaited')
})
