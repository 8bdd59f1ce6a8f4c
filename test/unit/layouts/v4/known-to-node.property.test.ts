/**
 * Whatever a client reads within the contract, the calls of the edge have paths, names and forms that a node of the v4
 * layout knows. The simulated node checks them with its own tables.
 */
import fc from 'fast-check'
import t from 'tap'
import { request as send } from 'undici'
import { startV4 } from '../../../../packages/simulator/test/v4/ask.ts'
import { EdgeError } from '../../../../src/core/errors.ts'
import type { CallNode } from '../../../../src/core/node-call.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { clusterViewOf } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { anyRead, reads } from './v3-reads.ts'

const RUNS_PER_ENDPOINT = 12

const UNKNOWN = /^(?:Extra query|Missing query|Wrong type|Invalid field|404|405)|required property/

/** A text where the node wants a number is a value that no row has. */
const TEXT_FOR_NUMBER = /expected '(?:integer|number)'/
const NO_ROWS = '{"error":0,"data":{"items":[],"totalItems":0}}'

t.test('a node knows everything that the edge asks', async (t) => {
  const { sim, logIn } = await startV4(t, { agents: 20 })
  const url = sim.nodes.find(({ name }) => name === 'master')?.url ?? ''
  const token = await logIn()
  const faults: string[] = []
  /** The calls of the read that runs. */
  let sent: string[] = []
  const call: CallNode = async ({ node, method, path: target, body }) => {
    sent.push(`${method} ${target}`)
    const response = await send(url + target, {
      method: method as 'GET',
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': body.type }) },
      ...(body && { body: body.bytes }),
    })
    const bytes = Buffer.from(await response.body.arrayBuffer())
    const type = String(response.headers['content-type'] ?? '').replace(/;.*/, '')
    const { detail, error } = type.endsWith('problem+json') ? (JSON.parse(bytes.toString()) as Problem) : {}
    const isUnknown = error === undefined && UNKNOWN.test(detail ?? '')
    if (isUnknown || response.statusCode === 406) faults.push(`${method} ${target}: ${detail}`)
    return { ok: true, response: { node, status: response.statusCode, type, body: bytes } }
  }
  const tools = {
    call,
    timeout: 30_000,
    master: 'master',
    view: clusterViewOf(sim.nodes.map(({ name, type }) => ({ name, type, addressed: true }))),
  }
  const answerTo = async (request: ReturnType<typeof edgeRequest>): Promise<string | undefined> => {
    sent = []
    try {
      const result = await v4.ask(request, { node: 'master', path: request.endpoint.path }, tools)
      if (!result.ok) throw new Error(`${result.reason}, after ${sent.join(', ')}`)
      if (!result.translated.ok) throw new Error(`${result.translated.reason}, after ${sent.join(', ')}`)
      const { response } = result.translated
      return response.kind === 'envelope' ? response.body.toString() : undefined
    } catch (error) {
      if (error instanceof EdgeError && error.code !== 949) return undefined
      throw error
    }
  }
  for (const endpoint of reads) {
    const asked = fc.asyncProperty(anyRead(endpoint), async (read) => {
      const request = edgeRequest('GET', endpoint.path, read)
      const answered = await answerTo(request)
      const ignored = answered === NO_ROWS ? TEXT_FOR_NUMBER : undefined
      const left = faults.splice(0).filter((fault) => ignored?.test(fault) !== true)
      if (left.length > 0) throw new Error(left.join('\n'))
    })
    await t.resolves(fc.assert(asked, { numRuns: RUNS_PER_ENDPOINT }), endpoint.path)
  }
  t.ok(reads.length > 90, `${reads.length} endpoints`)
})

interface Problem {
  readonly detail?: string
  readonly error?: number
}
