/**
 * Filters, sorts and selected fields may lead the database of the manager to another index, so that rows which the sort
 * leaves open have another order. Each part of a query, alone and beside others, has the response of the manager's engine if
 * it is computed from all rows.
 */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { startSimulator } from '../../../../packages/simulator/src/index.ts'
import { compilePolicy } from '../../../../src/cache/policy.ts'
import { collectionContracts } from '../../../../src/collections/contracts.ts'
import { isDetermined } from '../../../../src/collections/determined.ts'
import { answerFrom, readParts } from '../../../../src/collections/queried-rows.ts'
import { CollectionError } from '../../../../src/collections/request.ts'
import type { SnapshotCollection } from '../../../../src/contracts/endpoint.ts'
import { engineCollectionOf } from '../../../support/engine/collections.ts'
import { collections, fieldsOf, pathOf } from './compare.ts'
import { bodyOf, startOracleNode } from './oracle-node.ts'
import { everyPart, type RandomQuery } from './queries.ts'
import { type Answered, REMAINING } from './remaining.ts'

const { parse, isComputable, sources } = collectionContracts.v3
/** Collections whose rows of all nodes the edge itself sorts. */
const ofOneNode = collections.filter((record) => engineCollectionOf(pathOf(record)) !== undefined)

t.test('each part of a query of each collection', async (t) => {
  const start = new Date()
  const simulator = await startSimulator({ agents: 40, now: () => start, password: 'only-for-tests', remember: false })
  t.teardown(() => simulator.close())
  const oracle = await startOracleNode(t, simulator, ofOneNode.map(pathOf))
  const totals = { queries: 0, computed: 0, open: 0 }
  for (const record of ofOneNode) {
    const path = pathOf(record)
    const policy = compilePolicy(record)
    const found = oracle.find(path)
    if (typeof policy === 'string' || found === undefined) throw new Error(path)
    const source = sources[policy.snapshot as SnapshotCollection]
    const whole = rowsOf(found.engine.answer({ limit: '1000' }, start))
    const rows = await readParts([Buffer.from(`[${whole.map((row) => JSON.stringify(row)).join(',\n')}]`)], source)
    const rowsOutsideAscii = found.rows.filter((row) => /[^ -~]/.test(JSON.stringify(row))).length
    const differences: string[] = []
    for (const query of everyPart(record, found.rows, fieldsOf(path, found.rows))) {
      totals.queries += 1
      const request = parse(query, start)
      if (request === undefined || !isComputable(request, source)) continue
      const expected = found.engine.answer(query, start)
      try {
        if (!(await isDetermined(rows.table, request, source))) {
          totals.open += 1
          continue
        }
        totals.computed += 1
        const actual = JSON.parse((await answerFrom(rows, { collection: request, source })).toString()) as Body
        const wanted = cutTo(query, JSON.parse(JSON.stringify(bodyOf(expected))) as Body)
        if (isDeepStrictEqual(actual, wanted)) continue
        const asked = { path, query, rowsOutsideAscii }
        const isKnown = REMAINING.some(({ covers }) => covers(asked, answered(wanted), answered(actual)))
        if (!isKnown) differences.push(`${new URLSearchParams(query)}`)
      } catch (fault) {
        // A refusal is answered by the node.
        if (!(fault instanceof CollectionError)) throw fault
      }
    }
    t.strictSame(differences, [], path)
  }
  t.comment(`${totals.queries} queries, ${totals.computed} computed, ${totals.open} left to the node`)
  t.ok(totals.computed > totals.queries / 4, `${totals.computed} of ${totals.queries} queries are computed`)
})

function rowsOf(outcome: { readonly kind: string; readonly items?: readonly unknown[] }): readonly unknown[] {
  return outcome.items ?? []
}

interface Body {
  readonly error: number
  readonly data?: { items?: unknown[] }
}

function answered(body: Body): Answered {
  return { status: 200, cacheStatus: '', text: JSON.stringify(body), body }
}

/** The edge cuts pages of a node that are longer than the limit. */
function cutTo({ limit }: RandomQuery, body: Body): Body {
  if (body.data?.items) body.data.items = body.data.items.slice(0, Number(limit))
  return body
}
