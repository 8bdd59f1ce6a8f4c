/** A replica that is being stopped, as in a rolling restart, is no problem of the others. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const DRAIN_MS = 1000

interface Other {
  readonly name: string
  readonly ready: boolean
  readonly draining?: boolean
}

t.test('others show that it drains, name no problem, and do not list it once it has ended', async (t) => {
  const [redis, simulator] = [await startRedis(), await startSimulator({ agents: 2, workers: 0 })]
  t.teardown(() => Promise.all([redis.close(), simulator.close()]))
  const start = async (name: string) => {
    const settings = { replica: { name }, cache: { redis: { url: redis.url } } }
    const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
    t.teardown(() => edge.close())
    return edge
  }
  const [first, second] = [await start('edge-1'), await start('edge-2')]
  const headers = { authorization: first.authorization('operator') }
  const read = async (path: string) => (await fetch(first.operationsUrl + path, { headers })).json()
  // A report that the busy replica could not make has no replicas.
  const others = async () => ((await read('/api/nodes')) as { replicas?: readonly Other[] }).replicas ?? []
  await eventually(async () => (await others())[0]?.ready === true)

  const seen = new Set<string>()
  let isOver = false
  const ended = second.edge.drain(DRAIN_MS).then(() => {
    isOver = true
  })
  while (!isOver) {
    const { problems = [] } = (await read('/api/problems')) as {
      problems?: readonly { kind: string; summary: string }[]
    }
    for (const { kind, summary } of problems) if (kind === 'replicaNotReady') seen.add(summary)
    for (const { ready, draining } of await others()) if (!ready && draining) seen.add('draining')
  }
  await ended
  t.strictSame([...seen], ['draining'])
  await eventually(async () => {
    const { replicas } = (await read('/api/nodes')) as { replicas?: readonly Other[] }
    return replicas?.length === 0
  })
})
