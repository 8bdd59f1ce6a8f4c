import { Readable } from 'node:stream'
import t from 'tap'
import { storeResponse } from '../../../src/cache/store-response.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import type { Lookup, TagEpochs } from '../../../src/core/stored-response.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import { edgeRequest, joinedResponse, jsonResponse, replica, success } from '../../support/edge-requests.ts'

const epochs: TagEpochs = { generation: 'g', epochs: ['0~0'], fenced: false }
const miss: Lookup = { kind: 'miss', epochs, changed: false }
const fenced: Lookup = { kind: 'miss', epochs: { ...epochs, fenced: true }, changed: true }
const file: EdgeResponse = { kind: 'file', status: 200, type: 'text/plain', stream: Readable.from([]) }
const personal: EdgeResponse = { ...success(1), origin: { ...OF_NODE, isPersonal: true } }
const ofExpiredPart = joinedResponse(1, { partsFreshFor: -1 })

/** What a fetch was: whether its response may be stored, is a success, and ends or begins a refusal. */
const cases: readonly [name: string, EdgeResponse, Lookup, kind: string, isStored: boolean][] = [
  ['a success', success(1), miss, 'cacheable', true],
  ['a success with a part that has expired', ofExpiredPart, miss, 'cacheable', false],
  ['a success under a fence', success(1), fenced, 'uncacheable', false],
  ['a success without a store', success(1), { kind: 'unavailable' }, 'uncacheable', false],
  ['a success for one caller', personal, miss, 'uncacheable', false],
  ['a success that lacks nodes', joinedResponse(1, { completeness: 'partial' }), miss, 'uncacheable', false],
  ['a file', file, miss, 'uncacheable', false],
  ['an error of the manager', jsonResponse({ error: 1701, message: '' }), miss, 'refused', false],
  ['an error of the manager under a fence', jsonResponse({ error: 1701, message: '' }), fenced, 'refused', false],
  ['a failure of the nodes', jsonResponse({ error: 3021, message: '' }), miss, 'failed', false],
]

for (const [name, response, lookup, kind, isStored] of cases) {
  t.test(`${name} is ${kind}${isStored ? ', and stored' : ''}`, async (t) => {
    const { ports, targetOf } = replica()
    const request = edgeRequest('GET /agents')
    const context = { request, target: targetOf(request), lookup }
    const { result, storing } = await storeResponse(ports, context, { lookup, response, fetchTime: 1 })
    t.equal(result.kind, kind)
    t.equal(result.response, response)
    t.equal(storing !== undefined, isStored)
  })
}
