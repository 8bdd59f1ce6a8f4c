/** Whatever a node with the v4 layout answers, the edge has a response or says that it cannot read the node's. */
import fc from 'fast-check'
import t from 'tap'
import { catalogue } from '../../../../src/contracts/index.ts'
import { EdgeError } from '../../../../src/core/errors.ts'
import type { NodeCall, NodeResult } from '../../../../src/core/node-call.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { viewOfMaster } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'

const odd = fc.oneof(
  fc.constantFrom(null, [], {}, '', 'x', 0, -1, true, ['a'], [null], [[]], [{}], [{ name: null }], { x: [{}] }),
  fc.jsonValue({ maxDepth: 2 }),
)
const failed = fc.oneof(
  odd,
  fc.constantFrom([{ error: { code: 1701, message: 'x' }, id: ['001'] }], [{ error: {}, id: [] }]),
)
const success = fc.record(
  {
    data: fc.oneof(
      odd,
      fc.record({ affected_items: odd, total_affected_items: odd, failed_items: failed }, { requiredKeys: [] }),
    ),
    message: odd,
    error: fc.constantFrom(0, 1, 2, '0', null),
  },
  { requiredKeys: [] },
)
const problem = fc.record({ title: odd, detail: odd, error: odd }, { requiredKeys: [] })
const body = fc.oneof(
  success.map((value) => ({ status: 200, value })),
  problem.map((value) => ({ status: 400, value })),
  odd.map((value) => ({ status: 200, value })),
)

const params = { agent_id: '001', group_id: 'g', agent_name: 'a', node_id: 'master', node_name: 'master' }
const further = {
  filename: 'agent.conf',
  file_name: 'agent.conf',
  rule_id: '1',
  decoder_name: 'd',
  policy_id: 'p',
  component: 'c',
  configuration: 'x',
}
const ids = {
  kind: 'fields',
  fields: { ids: ['001'], command: 'c', name: 'n', ip: 'any', id: '001', key: 'a'.repeat(64) },
} as const
const query = { path: 'etc/ossec.conf', ids: '001', installer: 'x', file_path: '/x.wpk' }

t.test('each endpoint with odd bodies', async (t) => {
  for (const { method, path, translation, query: known } of catalogue) {
    if (translation === undefined || translation.plan === 'upgradeResult' || translation.plan === 'removeAgent')
      continue
    const sent = Object.fromEntries(Object.entries(query).filter(([name]) => name in known))
    const upload = { kind: 'upload', type: 'application/xml', bytes: Buffer.from('<a/>') } as const
    const request = edgeRequest(method, path, {
      params: { ...params, ...further },
      query: sent,
      ...(method !== 'GET' && { body: path.endsWith('files') || path.includes('groups') ? upload : ids }),
    })
    await t.test(`${method} ${path}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 3 }), async (bodies) => {
          let asked = 0
          const call = async ({ node }: NodeCall): Promise<NodeResult> => {
            const { status, value } = bodies[asked++ % bodies.length] ?? { status: 200, value: null }
            const type = status === 200 ? 'application/json' : 'application/problem+json'
            return { ok: true, response: { node, status, type, body: Buffer.from(JSON.stringify(value)) } }
          }
          const candidate = { node: 'master', path }
          const tools = { call, timeout: 5_000, master: 'master', view: viewOfMaster() }
          const result = await v4.ask(request, candidate, tools).catch((error: unknown) => {
            // The edge refuses some requests itself.
            if (error instanceof EdgeError && error.code !== 949) return undefined
            throw error
          })
          if (result?.ok && result.translated.ok && result.translated.response.kind === 'envelope') {
            JSON.parse(result.translated.response.body.toString())
          }
        }),
        { numRuns: 60 },
      )
    })
  }
})
