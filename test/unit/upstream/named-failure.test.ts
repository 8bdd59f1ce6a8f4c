/** Which failure the rejection of calls to an ejected node names. */
import t from 'tap'
import { NodeHealth } from '../../../src/upstream/failure/health.ts'
import type { Rejection } from '../../../src/upstream/node-response.ts'
import { clusterSettings, get } from './fake-node.ts'

t.test('slow calls whose clients left eject the node, and not a failure of long before', (t) => {
  const rejections: Rejection[] = []
  const { ejection } = clusterSettings({})
  const health = new NodeHealth({
    node: 'master',
    ejection,
    clock: () => 0,
    log: () => undefined,
    probe: async () => 'none',
    reserveAttempt: async () => undefined,
    onEject: (rejection) => rejections.push(rejection),
    onRecover: () => undefined,
    rules: () => ({ showsProblems: false }),
  })
  const call = get()
  health.record(call, { failure: { fault: 'unreachable', reason: 'connectionLost' } }, 0)
  health.record(call, { status: 200 }, 0)
  const left = { failure: { fault: 'cancelled', reason: 'clientDisconnected' } } as const
  health.record(call, left, 0)
  t.match(health.ejection.lastFailure, { fault: 'unreachable' }, 'a quick one shows nothing')
  for (let at = 0; at < ejection.failures; at += 1) health.record(call, left, Number(call.timeout))
  t.match(rejections, [{ fault: 'ejected', lastFault: 'timeout', about: 'timed out' }])
  t.end()
})
