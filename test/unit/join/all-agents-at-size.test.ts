/** Reads over the rows of all agents, of 100,000 agents at 26 nodes: no turn of the event loop is long. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { priceOfRead } from '../../../src/core/request.ts'
import { joinCollections } from '../../../src/join/join-collections.ts'
import type { AgentOwner } from '../../../src/join/owner-lookup.ts'
import { readFromOwners } from '../../../src/join/read-from-owners.ts'
import { readThroughMaster } from '../../../src/join/read-through-master.ts'
import { bodyOf, edgeRequest, success } from '../../support/edge-requests.ts'
import { MAX_RUNS, measureBestRun } from '../../support/event-loop.ts'
import { isDistributing, viewOf } from './three-nodes.ts'

const AGENTS = 100_000
const PAGE = 1000
const MAX_TURN_MS = 20
const names = ['m', ...Array.from({ length: 25 }, (_, at) => `w${at + 1}`)]

function ownerOf(at: number): AgentOwner {
  if (at % 20 === 0) return { kind: 'neverConnected' }
  return at % 1000 === 7 ? { kind: 'unknown' } : { kind: 'node', node: names[at % names.length] ?? 'm' }
}

/** Each read has a new owner table, in another order. */
function createTables() {
  const entries = Array.from({ length: AGENTS }, (_, at) => [String(at).padStart(3, '0'), ownerOf(at)] as const)
  const rotated = (by: number) => new Map([...entries.slice(by), ...entries.slice(0, by)])
  return Array.from({ length: MAX_RUNS + 1 }, (_, at) => rotated(at * 2500))
}

/** A full page. */
function pageOf(first: number, step: number) {
  const idAt = (at: number) => String(first + at * step).padStart(3, '0')
  const items = Array.from({ length: PAGE }, (_, at) => ({ name: 'package', agent_id: idAt(at) }))
  return success({ items, totalItems: 10 * AGENTS })
}

for (const [mode, readRows] of Object.entries({ manager: readThroughMaster, edge: readFromOwners })) {
  t.test(`mode ${mode}`, async (t) => {
    const tables = createTables()
    const pages = new Map(
      mode === 'edge'
        ? names.map((name, at) => [name, pageOf(at === 0 ? names.length : at, names.length)])
        : [['m', pageOf(1, 1)]],
    )
    let calls = 0
    const read = joinCollections(
      {
        view: viewOf(names),
        read: async ({ params: { agent_id }, extent }) => {
          calls += 1
          await nextTurn()
          if (agent_id !== undefined) return success({ items: [{ name: `package of ${agent_id}` }], totalItems: 1 })
          return pages.get(typeof extent === 'object' ? extent.node : 'm') ?? pageOf(1, 1)
        },
        owners: {
          allOwners: async () => {
            await nextTurn()
            return tables.pop() ?? new Map()
          },
          verifiedOwners: async (ids) => new Map(ids.map((id) => [id, 'm'])),
        },
        isDistributing,
        catalogue,
        limits: () => ({ timeout: 20_000, slowTimeout: 20_000, agentsPerCollection: 1000 }),
      },
      readRows,
    )
    const query = { limit: '500' }
    const run = () => read(edgeRequest('GET /experimental/syscollector/packages', { query }))
    const { data } = bodyOf(await run()) as { data: { covered_agents: { covered: number; all: number } } }
    t.ok(data.covered_agents.covered >= PAGE / 2, JSON.stringify(data.covered_agents))
    t.ok(calls <= priceOfRead(names.length), `${calls} calls`)
    const longest = await measureBestRun(run, MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${longest} ms of CPU time in one turn`)
  })
}
