/** When a node that blocks the address of the edge is tried again: the pauses, and one replica for all. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { createCounters } from '../../../src/core/counters.ts'
import { NodeHealth } from '../../../src/upstream/failure/health.ts'
import { BLOCKED } from '../../../src/upstream/node-response.ts'
import { reserveAttemptAt } from '../../../src/upstream/probes.ts'
import { clusterSettings, get } from './fake-node.ts'

const SECOND = 1_000
const block = { interval: 5_000, minPause: 10_000, maxPause: 160_000 }

/** Replicas that a node blocks at the same moment, until it is told to answer. */
function start(t: Test, replicas: number) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let now = 0
  let isBlocked = true
  const attempts: number[] = []
  const answered: number[] = []
  const counters = { ...createCounters(() => now), replicas }
  for (let replica = 0; replica < replicas; replica += 1) {
    const health = new NodeHealth({
      node: 'master',
      ejection: clusterSettings({ ejection: { block } }).ejection,
      clock: () => now,
      reserveAttempt: (pause) => reserveAttemptAt('master', pause, counters),
      probe: async () => {
        attempts.push(now / SECOND)
        return isBlocked ? 'blocked' : 'answered'
      },
      onRecover: () => answered.push(now / SECOND),
      onEject: () => undefined,
      log: () => undefined,
      rules: () => ({ showsProblems: true }),
    })
    health.record(get(), { failure: BLOCKED }, 0)
  }
  const advance = async (seconds: number) => {
    for (let at = 0; at < seconds; at += 1) {
      now += SECOND
      mock.timers.tick(SECOND)
      for (let turn = 0; turn < 20; turn += 1) await null
    }
  }
  return { attempts, answered, advance, unblock: () => (isBlocked = false) }
}

t.test('attempts follow after pauses that grow with the block', async (t) => {
  const { attempts, advance } = start(t, 1)
  await advance(650)
  t.same(attempts, [10, 20, 40, 80, 160, 320, 480, 640])
})

t.test('replicas make the attempts of one, and all recover soon after one of them has', async (t) => {
  const { attempts, answered, advance, unblock } = start(t, 3)
  await advance(200)
  t.same(attempts, [10, 20, 40, 80, 160])
  unblock()
  await advance(130)
  t.equal(attempts[5], 320)
  t.equal(answered.length, 3)
  t.ok(Math.max(...answered) <= 330, `${answered}`)
})
