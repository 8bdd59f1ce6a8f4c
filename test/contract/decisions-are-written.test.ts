import { readFileSync } from 'node:fs'
import t from 'tap'
import { kinds, type ValueKind } from '../../src/contracts/schemas/kinds.ts'
import { contract, idOf } from './facts.ts'

const document = readFileSync(new URL('../../docs/contract-decisions.md', import.meta.url), 'utf8')
const rows = document.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('|--'))
/** The first table has five columns, the others have fewer. */
const decisions = rows.map((row) => row.split('|')).filter((cells) => cells.length === 7)
const disagreeing = contract.endpoints.filter((endpoint) => endpoint.disagreements !== undefined).map(idOf)

t.test('each endpoint whose description and real behaviour differ has a decision', async (t) => {
  t.equal(disagreeing.length, 66)
  for (const id of disagreeing) {
    const own = decisions.filter((cells) => cells[1]?.includes(`\`${id}\``))
    t.equal(own.length, 1, id)
  }
})

/** Endpoints that only the edge has. */
const ADDITIONS = ['GET /openapi.json', 'GET /openapi-v4.json']

t.test('no decision exists for an endpoint without a difference', async (t) => {
  const named = decisions.flatMap((cells) => [...(cells[1]?.matchAll(/`((?:GET|POST|PUT|DELETE) [^`]+)`/g) ?? [])])
  for (const [, id = ''] of named) t.ok(disagreeing.includes(id) || ADDITIONS.includes(id), id)
})

t.test('each general difference has a decision', async (t) => {
  const numbers = rows.flatMap((row) => /^\| (S\d+):/.exec(row)?.[1] ?? [])
  t.strictSame(
    numbers,
    contract.meta.seed_wide_disagreements.map((_, index) => `S${index + 1}`),
  )
})

t.test('each kind of value that is stricter than in the real API is listed with its reason', async (t) => {
  for (const [name, kind] of Object.entries<ValueKind>(kinds)) {
    if (kind.wider === undefined) continue
    t.ok(kind.because, `${name} has a reason`)
    t.match(document, `\`${name}\``, name)
  }
})

t.test('every row has all of its cells', async (t) => {
  for (const row of rows) t.ok([5, 6, 7].includes(row.split('|').length), row.slice(0, 80))
})
