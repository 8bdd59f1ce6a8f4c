import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'

const CHANGES = 50
/** Changes that the edge must have reloaded one by one. */
const MIN_RELOADS = 10
const CHANGE_INTERVAL_MS = 40

t.test('nodes of the settings file change fifty times under load', async (t) => {
  const { simulator, edge } = await simulated(
    t,
    { workers: 4, agents: 10 },
    {
      reloads: true,
      settings: {
        cache: { enabled: false },
        cluster: { discover: false },
        access: { limits: { requestsPerSecond: 100_000 } },
      },
    },
  )
  const [master, ...workers] = simulator.nodes
  if (master === undefined) throw new Error('no master')
  const file = join(edge.folder, 'edge.yaml')
  const settings = parse(await readFile(file, 'utf8'))
  const use = async (names: readonly string[]) => {
    const nodes = [master, ...workers.filter(({ name }) => names.includes(name))]
    settings.cluster.nodes = nodes.map(({ name, type, url }) => ({ name, type, url }))
    await writeFile(`${file}.new`, stringify(settings))
    await rename(`${file}.new`, file)
  }
  const get = async (path: string) => {
    const answer = await fetch(`${edge.url}${path}`, { headers: { authorization: edge.authorization('admin') } })
    return { status: answer.status, body: (await answer.json()) as { error: number } }
  }
  const allButOne = (out: number) => workers.map(({ name }) => name).filter((_, at) => at !== out % workers.length)

  let isRunning = true
  const replies: { status: number; body: { error: number } }[] = []
  const turns = [0, 0]
  const client = async (_: unknown, number: number) => {
    for (let at = number; isRunning; at += 1) {
      replies.push(await get(at % 2 === 0 ? '/agents?limit=1' : '/rules?limit=1'))
      turns[number] = (turns[number] ?? 0) + 1
      await wait(10)
    }
  }
  const load = Promise.all(turns.map(client))
  const reloads = () => edge.logged.filter((line) => line.includes('configuration reloaded')).length
  // On a busy machine the edge reads the file less often, and several changes are one reload.
  for (let change = 0; change < CHANGES || reloads() < MIN_RELOADS; change += 1) {
    await use(allButOne(change))
    await wait(CHANGE_INTERVAL_MS)
  }
  await use(['worker-2', 'worker-3', 'worker-4'])
  await eventually(async () => (await get('/cluster/worker-1/info')).body.error === 3022)
  // Requests that were routed before the change have ended when each client has begun another one.
  const before = [...turns]
  await eventually(() => turns.every((turn, number) => turn > (before[number] ?? 0) + 1))
  const from = simulator.seen.length
  // A node of the settings answers about itself; a removed node is unknown.
  t.match(await get('/cluster/worker-2/info'), { status: 200, body: { error: 0 } })
  t.match(await get('/cluster/worker-1/info'), { status: 200, body: { error: 3022 } })
  await simulator.faults.set('master', { apiDown: true })
  for (let count = 0; count < 30; count += 1) await get('/rules?limit=1')
  isRunning = false
  await load
  const late = simulator.seen.slice(from)
  t.ok(late.some(({ node }) => node === 'worker-3'))
  t.notOk(
    late.some(({ node }) => node === 'worker-1'),
    'a removed node gets no request',
  )
  const failures = replies.filter(({ status, body }) => status !== 200 || body.error !== 0)
  t.strictSame(failures.slice(0, 3), [], `no failure in ${replies.length} requests`)
  t.ok(replies.length > 100)

  await t.test('invalid nodes are logged, and the last valid ones stay in use', async (t) => {
    await simulator.faults.clear()
    settings.cluster.nodes = [{ name: 'worker-3', type: 'worker', url: workers[2]?.url }]
    await writeFile(file, stringify(settings))
    await eventually(() => edge.logged.some((line) => line.includes('configuration not reloaded')))
    t.match(await get('/cluster/worker-2/info'), { status: 200, body: { error: 0 } })
  })
})
