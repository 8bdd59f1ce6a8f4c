/** Suspicions of nodes and agents behind the asked node: when they end, what lookups they cost, and the time limit of a call. */
import t from 'tap'
import type { NodeCall, NodeResult, PassedOnTo } from '../../../src/core/node-call.ts'
import { PassedOnCalls } from '../../../src/upstream/failure/passed-on-calls.ts'
import { clusterSettings, get } from './fake-node.ts'

const { baseTime, maxTime } = clusterSettings({}).ejection.cutOff
const HUNG: NodeResult = { ok: false, node: 'master', fault: 'timeout', reason: 'timedOut', sent: true, hung: true }

function answer(data: unknown = {}): NodeResult {
  const body = Buffer.from(JSON.stringify({ error: 0, data }))
  return { ok: true, response: { node: 'master', status: 200, type: 'application/json', body } }
}

const ownedBy = (node_name: string) => answer({ affected_items: [{ node_name }] })

function start() {
  let now = 0
  let lookups = 0
  const settings = clusterSettings({ clock: () => now, limits: { inFlight: 2 }, log: () => undefined })
  const nodes = ['master', 'w1'].map((name) => ({ name, type: 'worker' as const, addressed: true }))
  const calls = new PassedOnCalls({ ...settings, view: { nodes: () => nodes }, drained: new Map() })
  return {
    cutOffFor: () => calls.cutOffFor('w1'),
    lookups: () => lookups,
    later: (ms: number) => {
      now += ms
    },
    /** `owner`: what the master answers for the node of an agent. */
    send: (
      passedOnTo: PassedOnTo,
      answers: {
        readonly result: (call: NodeCall) => NodeResult | Promise<NodeResult>
        readonly owner?: () => NodeResult | Promise<NodeResult>
      },
      timeout = 20_000,
    ) =>
      calls.send({ ...get('/', { timeout }), passedOnTo }, async (call) => {
        if (call.caller !== 'owners') return answers.result(call)
        lookups += 1
        return answers.owner?.() ?? answer()
      }),
  }
}

const hangs = { result: () => HUNG }
const answers = { result: () => answer() }
const W1 = { node: 'w1' }
const settled = () => new Promise(setImmediate)

t.test('a node whose suspicion is due is not shown as cut off', async (t) => {
  const { send, later, cutOffFor } = start()
  await send(W1, hangs)
  t.ok(cutOffFor())
  later(baseTime)
  t.equal(cutOffFor(), undefined)
  let end = (_: NodeResult) => {}
  const probe = send(W1, { result: () => new Promise<NodeResult>((resolve) => (end = resolve)) })
  await settled()
  t.equal(cutOffFor(), 0, 'during the probe')
  end(answer())
  await probe
  t.equal(cutOffFor(), undefined)
})

t.test('a suspicion without a probe ends', async (t) => {
  const { send, later, lookups } = start()
  await send(W1, hangs)
  later(baseTime + maxTime)
  await send({ agent: '001' }, answers)
  t.equal(lookups(), 0, 'no suspect is left for which the owner of an agent would be looked up')
})

t.test('the suspicion of an agent ends with a response, also if the asked node is its owner', async (t) => {
  const { send, later, lookups } = start()
  await send({ agent: '001' }, hangs)
  await settled()
  later(baseTime)
  t.equal(lookups(), 1)
  await send({ agent: '001' }, { ...answers, owner: () => ownedBy('master') })
  t.equal(lookups(), 2)
  await send({ agent: '002' }, answers)
  t.equal(lookups(), 2, 'no suspect is left')
})

t.test('a call for an agent of the asked node that hangs is no suspicion', async (t) => {
  const { send } = start()
  const owner = () => ownedBy('master')
  await send({ agent: '001' }, { ...hangs, owner })
  t.match(await send({ agent: '001' }, { ...answers, owner }), { ok: true })
})

t.test('a lookup that found no owner is not repeated for some seconds', async (t) => {
  const { send, later, lookups } = start()
  await send(W1, hangs)
  for (const _ of [1, 2]) await send({ agent: '001' }, answers)
  t.equal(lookups(), 1)
  later(5_000)
  await send({ agent: '001' }, answers)
  t.equal(lookups(), 2)
})

t.test('the time limit of a call includes the wait for a slot', async (t) => {
  const { send, later } = start()
  let end = (_: NodeResult) => {}
  const first = send(W1, { result: () => new Promise<NodeResult>((resolve) => (end = resolve)) })
  await settled()
  const limits: unknown[] = []
  const result = ({ timeout }: NodeCall) => {
    limits.push(timeout)
    return answer()
  }
  const second = send(W1, { result })
  await settled()
  later(15_000)
  end(answer())
  await Promise.all([first, second])
  t.strictSame(limits, [5_000])
})

t.test('the time limit of a call includes the lookup of an owner', async (t) => {
  const { send, later } = start()
  await send(W1, hangs)
  const owner = () => {
    later(4_000)
    return answer()
  }
  const result = () => t.fail('the call is sent')
  t.match(await send({ agent: '001' }, { result: result as () => never, owner }, 4_000), { ok: false, sent: false })
})

t.test('the client of a call that hung waits for no lookup, and the next call for the agent does', async (t) => {
  const { send, cutOffFor } = start()
  let found = (_: NodeResult) => {}
  const owner = () => new Promise<NodeResult>((resolve) => (found = resolve))
  t.equal(await send({ agent: '001' }, { ...hangs, owner }), HUNG)
  t.equal(cutOffFor(), undefined)
  const next = send({ agent: '001' }, { result: () => t.fail('the call is sent') as never })
  found(ownedBy('w1'))
  t.match(await next, { lostNodes: ['w1'] })
  t.ok(cutOffFor())
})
