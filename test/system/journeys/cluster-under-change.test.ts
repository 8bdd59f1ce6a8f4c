/**
 * The cluster changes under load: agents move, a worker joins, another leaves, the API of the master is unreachable for a
 * while. No response contains a row twice. A response without the rows of an agent names the missing nodes, or says that it
 * covers so many agents less, unless the agent is just moving. No response is an empty success.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { ask, type Reply } from './edge-mode.ts'

/** The maximum age of an owner table, and the time for reading a new one as a multiple of the slowest response so far. */
const TABLE_AGE_MS = 1000
const SLOWEST_RESPONSES = 3
const ROWS = 'GET /experimental/syscollector/netaddr?limit=1000'
type Row = Readonly<Record<string, string>>

/** A response and what was requested. */
interface Sample {
  readonly agent?: string
  readonly reply: Reply
  /** Agents that moved shortly before the request, or later. */
  readonly moving: ReadonlySet<string>
}

async function changing(t: Test, { distribution }: { distribution: 'edge' | 'manager' }) {
  const distributed = distribution === 'manager'
  const simulator = await startSimulator({ workers: 3, agents: 16, distributed, password: 'only-for-tests' })
  const edge = await startEdge({
    nodes: simulator.nodes,
    reloads: true,
    settings: {
      cluster: { distribution, discover: false, limits: { inFlight: 16, timeout: '4s' } },
      cache: {
        ttl: { agents: '300ms', syscollector: '300ms' },
        staleWhileRevalidate: { syscollector: '0s' },
        staleIfError: '60s',
      },
      access: { limits: { requestsPerSecond: 100_000 } },
    },
  })
  t.teardown(async () => {
    await edge.close()
    await simulator.close()
  })
  const withRows = agentsIn(await ask(edge, ROWS))
  return { simulator, edge, withRows, ...load(edge, withRows), ...moves(simulator), use: usesNodes(edge) }
}

const agentsIn = ({ body }: Reply) => new Set<string>(body.data.items.map(({ agent_id }: Row) => agent_id))

function moves(simulator: Simulator) {
  const at = new Map<string, number>()
  return {
    movedSince: (moment: number) => new Set([...at].filter(([, when]) => when > moment).map(([id]) => id)),
    move: (id: string, node: string) => {
      at.set(id, performance.now())
      simulator.moveAgent(id, node)
    },
  }
}

/** Returns a function that replaces the nodes in the settings file, which the edge reloads. */
function usesNodes({ folder }: RunningEdge) {
  return async (nodes: Simulator['nodes']) => {
    const file = join(folder, 'edge.yaml')
    const settings = parse(await readFile(file, 'utf8'))
    settings.cluster.nodes = nodes.map(({ name, type, url }) => ({ name, type, url }))
    await writeFile(`${file}.new`, stringify(settings))
    await rename(`${file}.new`, file)
  }
}

function load(edge: RunningEdge, agents: ReadonlySet<string>) {
  const ids = [...agents].filter((id) => id !== '000')
  let slowest = 0
  /** Calls `change` with the list of samples, which grows meanwhile. */
  const run = async (
    change: (all: readonly Sample[]) => Promise<void>,
    movedSince: (moment: number) => ReadonlySet<string>,
  ) => {
    let isRunning = true
    const all: Sample[] = []
    const client = async (number: number) => {
      for (let turn = number; isRunning; turn += 1) {
        const agent = turn % 2 === 0 ? ids[turn % ids.length] : undefined
        const began = performance.now()
        const call = agent === undefined ? `${ROWS}&offset=0` : `GET /syscollector/${agent}/netaddr`
        const reply = await ask(edge, call)
        slowest = Math.max(slowest, performance.now() - began)
        const moving = movedSince(began - TABLE_AGE_MS - SLOWEST_RESPONSES * slowest)
        all.push({ ...(agent !== undefined && { agent }), reply, moving })
        await wait(5)
      }
    }
    const clients = Promise.all([0, 1, 2, 3].map(client))
    await change(all).finally(() => {
      isRunning = false
    })
    await clients
    return all
  }
  return { run }
}

function check(t: Test, all: readonly Sample[], withRows: ReadonlySet<string>): { labelled: number; whole: number } {
  const counts = { labelled: 0, whole: 0 }
  const wrong: string[] = []
  for (const { agent, reply, moving } of all) {
    const { error, data } = reply.body
    if (error !== 0) {
      if (reply.status === 200) wrong.push(`${agent}: ${JSON.stringify(reply.body)}`)
      continue
    }
    if (agent !== undefined) {
      if (data.items.length === 0) wrong.push(`no rows of ${agent}`)
      continue
    }
    const texts = data.items.map((row: Row) => JSON.stringify(row))
    if (new Set(texts).size !== texts.length) wrong.push('a row twice')
    const given = agentsIn(reply)
    const missing = [...withRows].filter((id) => !given.has(id) && !moving.has(id))
    if (isLabelled({ reply, moving })) counts.labelled += 1
    else counts.whole += 1
    // Beyond the price of a read, the response says how many agents it does not cover.
    const { covered = 0, all: known = 0 } = data.covered_agents ?? {}
    if (missing.length > known - covered && data.failed_nodes === undefined)
      wrong.push(`without ${missing}, ${known - covered} announced, and without failed_nodes`)
  }
  t.same([...new Set(wrong)], [])
  return counts
}

const isJoined = ({ agent, reply }: Sample) => agent === undefined && reply.body.error === 0
/** Whether the response names nodes without rows, or nodes whose stale rows are used instead. */
const isLabelled = ({ reply }: Sample) =>
  reply.body.data.failed_nodes !== undefined ||
  /detail="?stale/.test(`${reply.headers.get('cluster-status')} ${reply.headers.get('cache-status')}`)

/** Resolves when `count` of the samples from now on match. Rejects after a time that no machine needs. */
function more(all: readonly Sample[], count: number, matches: (sample: Sample) => boolean): Promise<void> {
  const from = all.length
  return eventually(() => all.slice(from).filter(matches).length >= count)
}

t.test('mode edge', async (t) => {
  const { simulator, edge, withRows, run, move, movedSince, use } = await changing(t, { distribution: 'edge' })
  const nodes = () => simulator.nodes.map(({ name, type, url }) => ({ name, type, url }))
  /** Waits for responses of all nodes with the rows of every agent. */
  const settled = (all: readonly Sample[]) =>
    more(all, 5, (sample) => isJoined(sample) && !isLabelled(sample) && agentsIn(sample.reply).size === withRows.size)
  const reloads = () => edge.logged.filter((line) => line.includes('configuration reloaded')).length
  const reload = async () => {
    const before = reloads()
    await use(nodes())
    await eventually(() => reloads() > before)
  }

  await t.test('agents move', async (t) => {
    const all = await run(async (all) => {
      for (let n = 0; n < 24; n += 1) {
        move(String(1 + (n % 16)).padStart(3, '0'), ['master', 'worker-1', 'worker-2', 'worker-3'][n % 4] ?? '')
        // The moves overlap with the responses: at least one response begins and ends between two moves.
        await more(all, 4, isJoined)
      }
      await settled(all)
    }, movedSince)
    const { labelled } = check(t, all, withRows)
    t.equal(labelled, 0)
  })

  await t.test('a worker joins, and gets agents', async (t) => {
    const all = await run(async (all) => {
      const joined = await simulator.join()
      await reload()
      for (const id of ['002', '003']) move(id, joined.name)
      await more(all, 1, ({ reply }) => /worker-4;[^,]*rows=[1-9]/.test(reply.headers.get('cluster-status') ?? ''))
      await settled(all)
    }, movedSince)
    check(t, all, withRows)
  })

  await t.test('a worker leaves: responses name it until its agents report to other nodes', async (t) => {
    const all = await run(async (all) => {
      await simulator.leave('worker-3')
      await more(all, 5, (sample) => isJoined(sample) && isLabelled(sample))
      const left = [...simulator.world.agents.values()].filter(({ node }) => node === 'worker-3')
      t.ok(left.length > 0)
      for (const { id } of left) move(id, 'worker-1')
      await reload()
      await settled(all)
    }, movedSince)
    check(t, all, withRows)
    const { body } = await ask(edge, ROWS)
    t.equal(body.data.failed_nodes, undefined)
    t.same(agentsIn({ body } as Reply), withRows)
  })

  await t.test('the API of the master becomes unreachable, and reachable again', async (t) => {
    const all = await run(async (all) => {
      await simulator.faults.set('master', { apiDown: true })
      await more(all, 5, (sample) => isJoined(sample) && isLabelled(sample))
      await simulator.faults.clear('master')
      await settled(all)
    }, movedSince)
    check(t, all, withRows)
    t.equal((await ask(edge, ROWS)).body.data.failed_nodes, undefined)
  })
})

t.test('mode manager: while the API of the master is unreachable, requests go to a worker', async (t) => {
  const { simulator, withRows, run, movedSince } = await changing(t, { distribution: 'manager' })
  const all = await run(async (all) => {
    await simulator.faults.set('master', { apiDown: true })
    await more(all, 20, isJoined)
    await simulator.faults.clear('master')
    await more(all, 5, isJoined)
  }, movedSince)
  const { labelled } = check(t, all, withRows)
  t.equal(labelled, 0)
  t.notOk(
    all.some(({ reply }) => reply.body.error !== 0),
    'no client got an error',
  )
})
