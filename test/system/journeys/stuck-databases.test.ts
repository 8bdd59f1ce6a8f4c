/**
 * A node whose databases hang, or all that its API process does not answer by itself: probes are answered. How many
 * reads wait for it, and that the other nodes answer as before. All times are a tenth of those that apply.
 */
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

const TIMEOUT_MS = 1_500
const SILENCE = { minWait: 200, maxWait: 400, probeTimeout: 1_000, probes: 2, pause: 50 }
const OBSERVED_MS = 4 * TIMEOUT_MS
/** Agents 002, 005 and so on report to this node. */
const NODE = 'worker-1'
const AGENTS = ['002', '005', '008', '011']

async function observe(t: Test, hanging: (url: string) => boolean, paths: readonly string[]) {
  const settings = {
    cluster: { distribution: 'edge', discover: false, limits: { timeout: `${TIMEOUT_MS}ms`, inFlight: 8 } },
    cache: { enabled: false },
    operations: { metrics: 'open' },
  }
  const times = { cluster: { ejection: { silence: SILENCE, baseTime: 100, maxTime: 3_000 } } }
  const world = { agents: 12, workers: 2, distributed: false }
  const { edge, simulator } = await simulated(t, world, { settings, times })
  const hangs = async () => {
    const samples = samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`)).text())
    return ['master', NODE, 'worker-2'].filter((node) => sumOf(samples, 'edge_node_hangs', { node }) > 0)
  }
  for (const path of paths) t.equal((await ask(edge, `GET ${path}`)).status, 200, path)
  await simulator.faults.set(NODE, { stall: true, only: ({ url }) => hanging(url) })
  const began = performance.now()
  const before = simulator.seen.length
  let reads = 0
  const poll = async (path: string) => {
    while (performance.now() - began < OBSERVED_MS) {
      const { status } = await ask(edge, `GET ${path}`)
      reads += 1
      if (status === 200) t.fail(`${path} was answered`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  await Promise.all([...paths, ...paths].map(poll))
  // The client of each waits for the whole timeout, or until the hang is found.
  const waited = simulator.seen.slice(before).filter(({ node, url }) => node === NODE && hanging(url)).length
  t.comment(`${reads} reads, ${waited} were sent to the node`)
  t.same(await hangs(), [NODE])
  const others = await Promise.all(
    ['/syscheck/001', '/syscheck/003', '/cluster/worker-2/info'].map((path) => ask(edge, `GET ${path}`)),
  )
  for (const { status } of others) t.equal(status, 200, 'what other nodes answer')
  await simulator.faults.clear()
  await eventually(async () =>
    (await Promise.all(paths.map((path) => ask(edge, `GET ${path}`)))).every(({ status }) => status === 200),
  )
  t.same(await hangs(), [])
  return { waited, clients: 2 * paths.length }
}

const ofAgents = AGENTS.map((id) => `/syscheck/${id}`)
const CASES = [
  { name: 'the databases of agents hang', hanging: (url: string) => url.startsWith('/syscheck'), paths: ofAgents },
  {
    name: 'everything but probes hangs',
    hanging: (url: string) => url !== '/' && url !== '/version',
    paths: [
      '/cluster/worker-1/info',
      '/cluster/worker-1/status',
      '/cluster/worker-1/logs',
      '/syscollector/005/os',
      ...ofAgents,
    ],
  },
]

for (const { name, hanging, paths } of CASES) {
  t.test(name, async (t) => {
    const { waited, clients } = await observe(t, hanging, paths)
    // Those of the first timeout, and trials.
    t.ok(waited < 2 * clients, `${waited} reads of ${clients} clients`)
  })
}
