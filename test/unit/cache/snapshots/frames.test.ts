/** The rows of the v4 contract, and the text around them, have the bytes of the node. */

import t from 'tap'
import { readCollection, type SnapshotRefusedError } from '../../../../src/cache/snapshots/read-collection.ts'
import { answerInFrame, readParts } from '../../../../src/collections/queried-rows.ts'
import { v4Sources } from '../../../../src/collections/v4-sources.ts'
import type { ReadEndpoint } from '../../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../../src/contracts/v4/index.ts'
import type { EnvelopeResponse } from '../../../../src/core/response.ts'
import { OF_NODE } from '../../../../src/layouts/dialect.ts'
import { edgeRead } from '../../../support/edge-requests.ts'

const endpoint = v4Contract.find(({ path }) => path === '/cluster/nodes') as ReadEndpoint
const request = edgeRead(endpoint)
const LIMITS = { maxRows: 100, maxBytes: 10_000, rowsPerCall: 2 }

function responseOf(text: string): EnvelopeResponse {
  return { kind: 'envelope', status: 200, body: Buffer.from(text), errorNumber: 0, origin: OF_NODE }
}

/** As the manager writes it. */
function pageOf(rows: readonly string[], total: number): string {
  return `{"data": {"affected_items": [${rows.join(', ')}], "total_affected_items": ${total}, "total_failed_items": 0, "failed_items": []}, "message": "All \\u00e9", "error": 0}`
}

const ROWS = ['{"name": "master", "x": 1.50}', '{"name": "w\\u00f6rker-1", "x": 1e3}', '{"x": 7, "name": "worker-2"}']

async function read(...pages: readonly string[]) {
  const left = [...pages]
  return readCollection(
    async () => responseOf(left.shift() ?? '{}'),
    request,
    LIMITS,
    () => {},
  )
}

t.test('pages of several calls are written as one response of the node', async (t) => {
  const { parts, frame, totalItems } = await read(pageOf(ROWS.slice(0, 2), 3), pageOf(ROWS.slice(2), 3))
  t.equal(totalItems, 3)
  if (frame === undefined) return t.fail('no frame')
  const rows = await readParts(parts, v4Sources.nodes)
  const answer = async (query: object) => {
    const collection = { now: new Date(), ...query }
    return (await answerInFrame(rows, { collection, source: v4Sources.nodes }, frame))?.toString()
  }
  t.equal(await answer({}), pageOf(ROWS, 3))
  t.equal(await answer({ offset: 1, limit: 100_000 }), pageOf(ROWS.slice(1), 3))
  t.equal(await answer({ sort: '-name' }), pageOf([ROWS[2] ?? '', ROWS[1] ?? '', ROWS[0] ?? ''].sort(byName), 3))
  t.equal(await answer({ search: 'master' }), pageOf(ROWS.slice(0, 1), 1))
  t.equal(await answer({ select: 'name', limit: 2 }), pageOf(['{"name": "master"}', '{"name": "w\\u00f6rker-1"}'], 3))
  t.equal(await answer({ search: 'nope' }), undefined, 'a node answers where no rows are found')
  t.equal(await answer({ offset: 3 }), undefined)
})

function byName(a: string, b: string): number {
  return JSON.parse(a).name < JSON.parse(b).name ? 1 : -1
}

async function refusalOf(...pages: readonly string[]): Promise<string | undefined> {
  return read(...pages).then(
    () => undefined,
    (fault: SnapshotRefusedError) => fault.reason,
  )
}

t.test('responses of another form have no snapshot', async (t) => {
  const before = '{"data": {"total_affected_items": 1, "affected_items": [{"name": "a"}]}, "message": "", "error": 0}'
  t.equal(await refusalOf(before), 'nodeError')
  t.equal(await refusalOf(pageOf(['{"name":\n"a"}'], 1)), 'nodeError')
  t.equal(await refusalOf(pageOf(['7'], 1)), 'nodeError')
  t.equal(await refusalOf(pageOf(ROWS.slice(0, 1), 2)), 'changed')
  t.equal(await refusalOf(pageOf(ROWS.slice(0, 2), 3), pageOf(ROWS.slice(0, 1), 3)), 'repeatedRows')
  t.equal(await refusalOf('{"data": {"items": [], "totalItems": 0}, "error": 0}'), 'nodeError')
  t.equal(await refusalOf(pageOf(['{"id": 1234567890123456}'], 1)), 'longNumbers')
})
