import t from 'tap'
import type { NodeInfo } from '../../../src/core/node-call.ts'
import {
  type DrainRequest,
  stateWithDrain,
  stateWithoutDrain,
  withoutEnded,
} from '../../../src/upstream/drain-rules.ts'
import { formatDrainState, NO_DRAINS, parseDrainState } from '../../../src/upstream/drain-state.ts'

const node = (name: string, addressed = true): NodeInfo => {
  return { name, type: name === 'master' ? 'master' : 'worker', addressed }
}
const viewOf = (...nodes: NodeInfo[]) => ({ nodes: () => nodes, master: () => node('master') })
const view = viewOf(node('master'), node('worker-1'), node('worker-2', false))
const request = (name: string, more: Partial<DrainRequest> = {}): DrainRequest => {
  return { node: name, by: 'alice', confirmsMaster: false, verifiesUsersAtMaster: false, ...more }
}

t.test('a drain names the operator and the time, and a repeated one changes nothing', async (t) => {
  const state = stateWithDrain(NO_DRAINS, request('worker-1'), view, 5000)
  t.same(state, { revision: 5000, drains: [{ node: 'worker-1', by: 'alice', at: 5000 }] })
  t.equal(stateWithDrain(state, request('worker-1', { by: 'bob' }), view, 6000), state)
  t.same(stateWithoutDrain(state, 'worker-1', view, 4000), { revision: 5001, drains: [] }, 'a slow clock')
})

t.test('a node without address, the last node and an unknown node cannot be drained', async (t) => {
  t.throws(() => stateWithDrain(NO_DRAINS, request('worker-2'), view, 1), { code: 940, message: /no address/ })
  t.throws(() => stateWithDrain(NO_DRAINS, request('worker-3'), view, 1), { code: 603 })
  const state = stateWithDrain(NO_DRAINS, request('worker-1'), view, 1)
  const last = request('master', { confirmsMaster: true })
  t.throws(() => stateWithDrain(state, last, view, 2), { code: 940, message: /last node in use/ })
})

t.test('the master needs a confirmation, and stays if it verifies the users', async (t) => {
  t.throws(() => stateWithDrain(NO_DRAINS, request('master'), view, 1), { code: 940, message: /confirm=master/ })
  const confirmed = request('master', { confirmsMaster: true })
  t.match(stateWithDrain(NO_DRAINS, confirmed, view, 1), { drains: [{ node: 'master' }] })
  const needed = { ...confirmed, verifiesUsersAtMaster: true }
  t.throws(() => stateWithDrain(NO_DRAINS, needed, view, 1), { code: 940, message: /passthrough/ })
})

t.test('a node that was removed from the cluster can be put back', async (t) => {
  const state = stateWithDrain(NO_DRAINS, request('worker-1'), view, 1)
  t.match(stateWithoutDrain(state, 'worker-1', viewOf(node('master')), 2), { drains: [] })
  t.throws(() => stateWithoutDrain(NO_DRAINS, 'worker-1', viewOf(node('master')), 2), { code: 603 })
})

t.test('a reason and an end replace those of a drained node, and an ended drain no longer counts', async (t) => {
  const two = viewOf(node('master'), node('worker-1'))
  const state = stateWithDrain(NO_DRAINS, request('worker-1', { reason: 'OPS-1', duration: 1000 }), two, 5000)
  t.same(state.drains, [{ node: 'worker-1', by: 'alice', at: 5000, reason: 'OPS-1', until: 6000 }])
  t.equal(stateWithDrain(state, request('worker-1'), two, 5500), state, 'a drain without both changes nothing')
  const longer = stateWithDrain(state, request('worker-1', { by: 'bob', duration: 3000 }), two, 5500)
  t.same(longer.drains, [{ node: 'worker-1', by: 'bob', at: 5000, until: 8500 }])
  t.equal(withoutEnded(longer, 8499), longer)
  t.same(withoutEnded(longer, 8500), { revision: 8500, drains: [] })
  const master = request('master', { confirmsMaster: true })
  t.throws(() => stateWithDrain(longer, master, two, 8000), { code: 940, message: /last node in use/ })
  t.match(stateWithDrain(longer, master, two, 9000).drains, [{ node: 'master' }])
})

t.test('a drain is refused that replicas could not read again', async (t) => {
  const names = Array.from({ length: 257 }, (_, at) => `worker-${at}`)
  const many = viewOf(node('master'), ...names.map((name) => node(name)))
  const drainAll = (reason?: string) =>
    names.reduce((state, name) => stateWithDrain(state, request(name, { reason }), many, 1), NO_DRAINS)
  t.throws(() => drainAll(), { code: 940, message: /worker-256: .*too long/ }, 'more nodes than a state may have')
  t.throws(() => drainAll('\u{1F6E0}'.repeat(75)), { code: 940, message: /too long/ }, 'more bytes, with fewer nodes')
  const longName = viewOf(node('master'), node('n'.repeat(256)))
  t.throws(() => stateWithDrain(NO_DRAINS, request('n'.repeat(256)), longName, 1), { code: 940, message: /too long/ })
  const state = stateWithDrain(NO_DRAINS, request('worker-0', { reason: '"'.repeat(150) }), many, 1)
  t.same(parseDrainState(formatDrainState(state)), state)
})
