import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import {
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  fieldsOf,
  type Handler,
  onlyNodeOf,
} from '../../../src/core/request.ts'
import { joinCollections } from '../../../src/join/join-collections.ts'
import { joinVerdicts, joinWrites } from '../../../src/join/join-results.ts'
import { readFromOwners } from '../../../src/join/read-from-owners.ts'
import { bodyOf, edgeRequest, fields, success } from '../../support/edge-requests.ts'
import { endpoints, isDistributing, names, view } from './three-nodes.ts'

const ELEMENTS = 100_000
const ids = Array.from({ length: ELEMENTS }, (_, at) => String(at + 1).padStart(6, '0'))

/** Numbers from 0 to 1 that are the same in every run (a linear congruential generator). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function writes(forward: Handler<EdgeWrite>, ownerOf: (id: string) => string = () => 'm') {
  const owners = {
    verifiedOwners: async (asked: readonly string[]) => new Map(asked.map((id) => [id, ownerOf(id)])),
    groupMembers: async () => ({ nodes: new Map() }),
  }
  return joinWrites({ forward, view, owners, isDistributing, endpoints })
}

function namedNode(request: EdgeRequest): string {
  return onlyNodeOf(request) ?? request.params.node_id ?? ''
}

for (const seed of [1, 2]) {
  t.test(
    `affected: the owners' results of ${ELEMENTS} agents, in the order of the request (seed ${seed})`,
    async (t) => {
      const random = createRandom(seed)
      const byId = new Map(
        ids.map((id) => [id, { node: names[Math.floor(random() * 3)] ?? 'm', works: random() < 0.5 }]),
      )
      const order = [...ids].sort(() => random() - 0.5)
      const respond: Handler<EdgeWrite> = (request) => {
        const asked = fieldsOf(request).ids as string[]
        const failed = asked.filter((id) => !byId.get(id)?.works).reverse()
        const failures = failed.map((id) => ({ id, error: { code: 1707, message: `no ${id}` } }))
        return success({ affected_agents: asked.filter((id) => byId.get(id)?.works), failed_ids: failures })
      }
      const handle = writes(respond, (id) => byId.get(id)?.node ?? 'm')
      const { data } = bodyOf(await handle(edgeRequest('POST /agents/restart', fields({ ids: order }))))
      const expected: { affected_agents: string[]; failed_ids: object[] } = { affected_agents: [], failed_ids: [] }
      for (const id of order) {
        if (byId.get(id)?.works) expected.affected_agents.push(id)
        else expected.failed_ids.push({ id, error: { code: 1707, message: `no ${id}` } })
      }
      t.ok(JSON.stringify(data) === JSON.stringify({ msg: 'Some agents were not restarted', ...expected }))
    },
  )

  t.test(`verdict: each of ${ELEMENTS} details once, in the order of the nodes (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const details = new Map(names.map((name) => [name, ids.filter(() => random() < 0.5)]))
    const respond = (request: EdgeRead) => success({ status: 'KO', details: details.get(namedNode(request)) })
    const handle = joinVerdicts({ read: respond, view, endpoints })
    const { data } = bodyOf(await handle(edgeRequest('GET /cluster/configuration/validation')))
    const seen: Record<string, true> = {}
    const expected: string[] = []
    for (const name of names) {
      for (const detail of details.get(name) ?? []) {
        if (seen[`-${detail}`]) continue
        seen[`-${detail}`] = true
        expected.push(detail)
      }
    }
    t.ok(JSON.stringify(data) === JSON.stringify({ status: 'KO', details: expected }))
  })

  t.test(`collection: any page of ${ELEMENTS} rows (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    const rows = ids.map((id) => ({
      timestamp: Math.floor(random() * 50_000),
      tag: id,
      node: Math.floor(random() * 3),
    }))
    const sorted = (some: typeof rows) =>
      [...some].sort((a, b) => a.timestamp - b.timestamp || a.node - b.node || (a.tag < b.tag ? -1 : 1))
    const pad = (timestamp: number) => String(timestamp).padStart(9, '0')
    const ofNode = names.map((_, node) => sorted(rows.filter((row) => row.node === node)))
    const read: Handler<EdgeRead> = (request) => {
      const own = ofNode[names.indexOf(namedNode(request))] ?? []
      const { offset = '0', limit = '500' } = request.query
      const page = own.slice(Number(offset), Number(offset) + Number(limit))
      return success({
        items: page.map(({ timestamp, tag }) => ({ timestamp: pad(timestamp), tag })),
        totalItems: own.length,
      })
    }
    const owners = { allOwners: async () => new Map(), verifiedOwners: async () => new Map() }
    const limits = () => ({ timeout: 60_000, slowTimeout: 60_000, agentsPerCollection: 1000 })
    const handle = joinCollections(
      {
        read,
        view,
        owners,
        isDistributing,
        catalogue,
        limits,
      },
      readFromOwners,
    )
    const all = sorted(rows)
    for (const offset of [0, Math.floor(random() * ELEMENTS), ELEMENTS - 500, ELEMENTS + 1]) {
      const query = { sort: '+timestamp', offset: `${offset}`, limit: '1000' }
      const request = edgeRequest('GET /cluster/:node_ids/logs', { params: { node_ids: '*' }, query })
      const items = all.slice(offset, offset + 1000).map(({ timestamp, tag, node }) => {
        return { node_name: names[node], timestamp: pad(timestamp), tag }
      })
      const { data } = bodyOf(await handle(request))
      t.ok(JSON.stringify(data) === JSON.stringify({ items, totalItems: ELEMENTS }), `offset ${offset}`)
    }
  })
}

t.test(`message: the message of the first node, although its response names ${ELEMENTS} agents`, async (t) => {
  const handle = writes((request) => success(`${namedNode(request)}: ${ids.join()}`))
  const { data } = bodyOf(await handle(edgeRequest('PUT /agents/restart')))
  t.ok(data === `m: ${ids.join()}`)
})
