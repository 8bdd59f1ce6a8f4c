import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { measureRuns } from '../../support/event-loop.ts'
import type { Fate } from '../../support/fates.ts'
import { largeCluster } from './large-cluster.ts'

const AGENTS = 100_000
/** Milliseconds of CPU time. */
const MAX_TURN_MS = 20

const cases: Readonly<Record<string, readonly Fate[]>> = {
  'most agents fail': ['refused', 'refused', 'refused', 'refused', 'restarted'],
  'agents of every kind': ['restarted', 'refused', 'unmentioned', 'listedAsBoth', 'noOwner'],
}

for (const [name, fates] of Object.entries(cases)) {
  t.test(`a restart of ${AGENTS} agents blocks the edge for at most ${MAX_TURN_MS} ms: ${name}`, async (t) => {
    const { nodes, restartAll } = await largeCluster(t, { agents: AGENTS, fates })
    const limits = { timeout: '120s', slowTimeout: '120s' }
    const edge = await startEdge({ nodes, settings: { cluster: { distribution: 'edge', discover: false, limits } } })
    t.teardown(() => edge.close())
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => void warnings.push(message)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const restart = async () =>
      t.match(await restartAll(edge.url, edge.authorization('admin')), { status: 200, isAsExpected: true })
    // The first run compiles, and makes the bodies of the nodes.
    await restart()
    const runs = await measureRuns(restart, MAX_TURN_MS)
    const figures = `longest turns ${runs.map((ms) => ms.toFixed(1)).join(', ')} ms`
    t.comment(figures)
    t.strictSame(warnings, [], 'no warning of a leak, although there are more than ten nodes')
    t.ok(Math.min(...runs) <= MAX_TURN_MS, figures)
  })
}
