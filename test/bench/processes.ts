/**
 * Compares cache hits of an edge with one process and with several (`npm run bench:processes`): CPU time per request, rate,
 * and how the processes share the load. On a machine whose cores the load generator also needs, the rate shows little: then
 * equal CPU time per request and an equal share show that further cores would be used.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import { stringify } from 'yaml'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { createKeyFile } from '../../src/access/signing-keys.ts'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { pidsOf, start } from '../system/processes/processes.ts'
import { cpuOf, load, type Target } from './load.ts'

const { values } = readOptions({
  name: 'bench:processes',
  purpose: 'Compares cache hits of an edge with one process and with several: CPU time per request, rate, share.',
  options: {
    processes: { kind: 'number', meaning: 'number of processes to compare with one (default 2)' },
    rounds: { kind: 'number', meaning: 'rounds (default 5)' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each run (default 2)' },
  },
})
const { processes: several = 2, rounds = 5, seconds = 2 } = values
const WARM_UP_SECONDS = 2
const PATH = '/agents?limit=1'

const teardowns: (() => unknown)[] = []
const scope = { teardown: (end: () => unknown) => teardowns.push(end) }
const password = 'only-for-tests'
const authorization = `Basic ${btoa('admin:admin-pw')}`

interface Run {
  readonly cpu: number
  readonly rate: number
  /** Smallest and largest share of the CPU time of the serving processes, and that of the supervisor. */
  readonly shares: readonly [number, number, number]
}

const folder = await mkdtemp(join(tmpdir(), 'edge-processes-'))
const redis = await startRedis()
const simulator = await startSimulator({ workers: 0, agents: 10, password })
await writeFile(join(folder, 'users'), `admin:${await hash('admin-pw', 4)}\n`)
await createKeyFile(folder)

async function startEdge(processes: number) {
  const file = join(folder, `edge-${processes}.yaml`)
  const settings = {
    listen: { port: 0, processes, drain: { delay: '0s' } },
    operations: { port: 0 },
    cluster: {
      nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
      credentials: { username: 'edge', password },
    },
    cache: { redis: { url: redis.url }, ttl: { agents: '1h' }, divergenceCheck: { sampleRatio: 0 } },
    access: {
      users: 'users',
      roles: { admin: ['administrator'] },
      tokens: { keys: '.' },
      limits: { hitsPerSecond: 1_000_000 },
    },
  }
  await writeFile(file, stringify(settings))
  const edge = await start(scope, file, processes)
  const headers = { authorization }
  const url = edge.url + PATH
  // Each process has read the response from Redis, so that all compared responses are hits.
  for (let sent = 0; sent < 8 * processes; sent += 1)
    await (await fetch(url, { headers: { ...headers, connection: 'close' } })).text()
  const { length } = Buffer.from(await (await fetch(url, { headers })).arrayBuffer())
  const expected = { status: 200, length, cacheStatus: /hit/ }
  const pid = edge.child.pid ?? 0
  const target: Target = { name: `${processes} processes`, url, headers, pid, expected }
  return { target, pids: processes === 1 ? [pid] : await pidsOf(edge) }
}

async function run({ target, pids }: Awaited<ReturnType<typeof startEdge>>, time: number): Promise<Run> {
  const used = () => Promise.all([...pids, target.pid].map(cpuOf))
  const before = await used()
  const { cpu, rate } = await load(target, time)
  const after = await used()
  const spent = after.map((value, at) => value - (before[at] ?? 0))
  const all = spent.at(-1) ?? 1
  const shares = spent.slice(0, -1).map((value) => value / all)
  return { cpu, rate, shares: [Math.min(...shares), Math.max(...shares), 1 - shares.reduce((sum, each) => sum + each)] }
}

const median = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0
const percent = (share: number): string => `${Math.round(share * 100)} %`

try {
  const edges = [await startEdge(1), await startEdge(several)] as const
  for (const edge of edges) await run(edge, WARM_UP_SECONDS)
  const pairs: (readonly [Run, Run])[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const pair = [await run(edges[0], seconds), await run(edges[1], seconds)] as const
    pairs.push(pair)
    const texts = pair.map(({ cpu, rate }) => `${cpu.toFixed(1)} µs of CPU, ${Math.round(rate)}/s`)
    console.log(`round ${round} of ${rounds}  one process: ${texts[0]}; ${several} processes: ${texts[1]}`)
  }
  const cpu = median(pairs.map(([one, more]) => more.cpu / one.cpu))
  const rate = median(pairs.map(([one, more]) => more.rate / one.rate))
  const share = (at: 0 | 1 | 2) => percent(median(pairs.map(([, more]) => more.shares[at])))
  console.log(`${several} processes compared with one, medians of ${rounds} paired rounds:`)
  console.log(`CPU time per request: ${cpu.toFixed(2)} times`)
  console.log(`share of the CPU time: ${share(0)} to ${share(1)} per process, supervisor ${share(2)}`)
  const cores = availableParallelism()
  const note = cores <= several ? ` (${cores} cores, which the load generator shares: no measure of the gain)` : ''
  console.log(`rate: ${rate.toFixed(2)} times${note}`)
} finally {
  for (const end of teardowns) await end()
  await Promise.all([simulator.close(), redis.close()])
  await rm(folder, { recursive: true })
}
