import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { invalidate } from '../../../src/cache/writes.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { type EdgeRead, type EdgeWrite, fieldsOf, type Handler, onlyNodeOf } from '../../../src/core/request.ts'
import { createAgentOwners } from '../../../src/join/agent-owners.ts'
import { joinWrites } from '../../../src/join/join-results.ts'
import { bodyOf, edgeRequest, jsonResponse, recordOf, success } from '../../support/edge-requests.ts'
import { measureCpu, measureRuns } from '../../support/event-loop.ts'
import { expectedResults, type Fate, type FatedAgent, nodeResponse } from '../../support/fates.ts'
import { endpoints, isDistributing, viewOf } from './three-nodes.ts'

const AGENTS = 100_000
const PAGE = 1000
/** Milliseconds of CPU time. On a slow machine, a part of what it costs to parse and print the response. */
const MAX_TURN_MS = 20
const MAX_PART_OF_JSON = 0.3
/** All of them respond in one turn of the event loop. */
const names = ['m', ...Array.from({ length: 11 }, (_, at) => `w${at + 1}`)]
const view = viewOf(names)

const ids = Array.from({ length: AGENTS }, (_, at) => String(at + 1).padStart(6, '0'))

function agentsWith(fateOf: (at: number, node: string) => Fate): readonly FatedAgent[] {
  return ids.map((id, at) => {
    const node = names[(at * 7919) % names.length] ?? 'm'
    return { id, node, fate: fateOf(at, node) }
  })
}

/** The group of all agents. Bodies are made before the measurement, so that only the edge is measured. */
function cluster(agents: readonly FatedAgent[]) {
  const fates = new Map(agents.map(({ id, fate }) => [id, fate]))
  const rowOf = ({ id, node, fate }: FatedAgent) => ({
    id,
    node_name: fate === 'noOwner' ? 'unknown' : node,
    status: 'Active',
  })
  const pages = new Map<number, ReturnType<typeof success>>()
  for (let at = 0; at < agents.length; at += PAGE) {
    pages.set(at, success({ items: agents.slice(at, at + PAGE).map(rowOf), totalItems: agents.length }))
  }
  const bodies = new Map<string, ReturnType<typeof nodeResponse>>()
  const sent: (readonly string[])[] = []
  const read: Handler<EdgeRead> = async ({ query }) => {
    await nextTurn()
    return pages.get(Number(query.offset ?? 0)) ?? success({ items: [], totalItems: 0 })
  }
  const forward: Handler<EdgeWrite> = async (request) => {
    await nextTurn()
    const own = fieldsOf(request).ids as string[]
    sent.push(own)
    const key = `${onlyNodeOf(request)} ${own[0]} ${own.length}`
    const body = bodies.get(key) ?? nodeResponse(own, fates)
    bodies.set(key, body)
    if (body === 'fails') throw new EdgeError(924, ` (${onlyNodeOf(request)})`)
    return responses.get(key) ?? remember(key, jsonResponse(body))
  }
  const responses = new Map<string, ReturnType<typeof jsonResponse>>()
  const remember = (key: string, response: ReturnType<typeof jsonResponse>) => {
    responses.set(key, response)
    return response
  }
  const owners = createAgentOwners({
    view,
    read,
    lifetimes: () => ({ ttl: 5000, staleIfError: 60_000 }),
    endpoints: { agents: recordOf('GET /agents'), members: recordOf('GET /agents/groups/:group_id') },
  })
  const stage = invalidate({
    store: createMemoryStore({ bytes: () => 1 << 20 }),
    replicationLag: { noteWrite: () => {}, stateOf: () => 'current' as const },
    nodes: () => [{ name: 'm' }],
    onEvent: () => {},
    limits: () => ({ timeout: 20_000, slowTimeout: 20_000 }),
    clock: () => performance.now(),
  })
  const handle = stage(joinWrites({ forward, view, owners, isDistributing, endpoints }))
  return {
    sent,
    handle: async () => handle(edgeRequest('PUT /agents/groups/:group_id/restart', { params: { group_id: 'all' } })),
  }
}

const cases: Readonly<Record<string, (at: number, node: string) => Fate>> = {
  'all refused by their nodes': (at) => (at === 0 ? 'restarted' : 'refused'),
  'some of every kind': (at, node) => {
    if (node === 'w2') return 'nodeRefuses'
    return (['restarted', 'refused', 'unmentioned', 'listedAsBoth', 'noOwner'] as const)[at % 5] ?? 'restarted'
  },
  'one node unreachable, no owner for others': (at, node) => {
    if (node === 'w1') return 'nodeFails'
    return at % 2 === 0 ? 'restarted' : 'noOwner'
  },
}

for (const [name, fateOf] of Object.entries(cases)) {
  t.test(`a write over ${AGENTS} agents lists each of them and never blocks the event loop: ${name}`, async (t) => {
    const agents = agentsWith(fateOf)
    const { handle, sent } = cluster(agents)
    // The first run compiles, and makes the bodies of the nodes.
    const first = await handle()
    const { data, error } = bodyOf(first) as {
      error: number
      data: { affected_agents: string[]; failed_ids?: { id: string; error: { code: number } }[] }
    }
    t.equal(error, 0)
    const expected = expectedResults(agents)
    // Compared as texts: tap takes seconds to compare this many elements.
    const failures = (list: typeof expected.failed) => list.map(({ id, error }) => `${id} ${error.code}`).join()
    t.ok(data.affected_agents.join() === expected.affected.join(), 'the affected agents, in order')
    t.ok(failures(data.failed_ids ?? []) === failures(expected.failed), 'the failed agents with their errors, in order')
    const longestBody = Math.max(...sent.map((ids) => JSON.stringify({ ids }).length))
    t.ok(longestBody <= 100 * 1024, `a node accepts bodies of 100 KiB; the longest has ${longestBody} bytes`)
    const runs = await measureRuns(handle, MAX_TURN_MS)
    const json = measureCpu(() => JSON.stringify(JSON.parse(first.kind === 'envelope' ? first.body.toString() : '')))
    const longest = Math.min(...runs)
    const figures = `longest turns ${runs.map(Math.round)} ms; JSON of the response ${Math.round(json)} ms`
    t.ok(longest <= Math.max(MAX_TURN_MS, MAX_PART_OF_JSON * json), figures)
  })
}
