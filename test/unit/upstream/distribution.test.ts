import t from 'tap'
import type { CallNode, NodeInfo } from '../../../src/core/node-call.ts'
import { createDistributionCheck, probeDistribution } from '../../../src/upstream/distribution.ts'
import { answerOf } from '../../contract/replay/three-nodes.ts'

type Respond = (path: string) => { readonly error: number } | undefined

/** A node that answers as given; `undefined`: it cannot be reached. */
function node(respond: Respond) {
  const paths: string[] = []
  const call: CallNode = async ({ node, path }) => {
    paths.push(path)
    const body = respond(path)
    if (body === undefined) return { ok: false, node, fault: 'unreachable', sent: false, reason: 'connectionRefused' }
    const bytes = Buffer.from(JSON.stringify({ message: '', ...body }))
    return { ok: true, response: { node, status: 200, type: 'application/json', body: bytes } }
  }
  return { call, paths }
}

const master: NodeInfo = { name: 'master', type: 'master', addressed: true }
const worker: NodeInfo = { name: 'w', type: 'worker', addressed: true }

const probe = { node: 'worker-1', timeout: 1000, caller: 'test' }

t.test('a recorded node without distribution is recognised, and a recorded cluster with it', async (t) => {
  for (const [distribution, asked, expected] of [
    ['edge', 'worker-1', 'off'],
    ['edge', 'worker-2', 'off'],
    ['edge', 'master', 'off'],
    ['manager', 'master', 'on'],
  ] as const) {
    const { call } = node((path) => answerOf(asked, path, distribution) as { error: number })
    t.equal(await probeDistribution(call, probe), expected, `${asked}, distribution ${distribution}`)
  }
})

t.test('nothing is concluded from a node that is not ready, not in the cluster, or returns an error', async (t) => {
  for (const respond of [
    () => ({ error: 1017 }),
    () => ({ error: 1000 }),
    () => ({ error: 3012 }),
    () => ({ error: 3013 }),
    () => ({ error: 3022 }),
    () => undefined,
  ] satisfies Respond[]) {
    t.equal(await probeDistribution(node(respond).call, probe), 'unknown', JSON.stringify(respond()))
  }
})

t.test('an answer is used for a minute, that of a node which distributes for five seconds', async (t) => {
  let now = 0
  let error = 1000
  const logged: unknown[] = []
  const { call, paths } = node(() => ({ error }))
  const view = { nodes: () => [master, worker], layoutOf: () => 'v3' as const }
  const isDistributing = createDistributionCheck({ call, view, log: (...line) => logged.push(line), clock: () => now })
  t.strictSame(await Promise.all([isDistributing('w', undefined), isDistributing('w', undefined)]), [false, false])
  t.strictSame(paths, ['/cluster/w/info'], 'requests share the answer')
  error = 0
  now = 59_999
  t.equal(await isDistributing('w', undefined), false)
  now = 60_000
  t.equal(await isDistributing('w', undefined), true)
  now = 65_000
  t.equal(await isDistributing('w', undefined), true)
  t.strictSame(
    logged,
    [['warn', 'node distributes requests itself', { node: 'w', setting: 'cluster.distribution' }]],
    'logged once',
  )
  error = 1000
  now = 69_999
  t.equal(await isDistributing('w', undefined), true)
  now = 70_000
  t.equal(await isDistributing('w', undefined), false)
  t.equal(paths.length, 4)
})

t.test('a node of the v4 layout always distributes, so it is not asked', async (t) => {
  const { call, paths } = node(() => ({ error: 1000 }))
  const view = { nodes: () => [master, worker], layoutOf: () => 'v4' as const }
  const isDistributing = createDistributionCheck({ call, view, log: () => undefined })
  t.equal(await isDistributing('w', undefined), true)
  t.strictSame(paths, [])
})
