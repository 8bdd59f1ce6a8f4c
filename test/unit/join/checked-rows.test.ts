import fc from 'fast-check'
import t from 'tap'
import { findRows, type Rows } from '../../../src/collections/find-rows.ts'
import { countRows, iterateRows, rowsOf } from '../../../src/collections/rows.ts'
import { readEnvelopeInTurns } from '../../../src/core/envelope.ts'

const row = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })),
  fc.string(),
  fc.array(fc.integer(), { maxLength: 3 }),
)
const space = fc.constantFrom('', ' ', '\n\t')

/** Responses of nodes, a few with a second list or a second `data`, which makes them ambiguous. */
const response = fc
  .record({
    rows: fc.array(row, { maxLength: 5 }),
    isListTwice: fc.nat(9).map((n) => n === 0),
    space,
    twice: fc.nat(9).map((n) => n === 0),
  })
  .map(({ rows, isListTwice, space, twice }) => {
    const list = `"items"${space}:${space}[${rows.map((one) => JSON.stringify(one)).join(`${space},`)}${space}]`
    const data = `"data":${space}{${isListTwice ? `${list},` : ''}${list},"totalItems":${rows.length}}`
    const bytes = Buffer.from(`{"error":0,${twice ? '"data":{"items":[1,2,3]},' : ''}${data}}`)
    return { bytes, isAmbiguous: twice || isListTwice }
  })

t.test('the rows that the check of a response finds are the rows that a walk over the page finds', async (t) => {
  let used = 0
  await fc.assert(
    fc.asyncProperty(response, async ({ bytes, isAmbiguous }) => {
      const [envelope, walked] = [await readEnvelopeInTurns(bytes), findRows(bytes)]
      if (isAmbiguous || !envelope.ok) return isAmbiguous && !envelope.ok
      const found = await rowsOf(bytes, envelope.rows)
      if (!found.ok || !walked.ok) return false
      if (found.rows.known.ranges !== undefined) used++
      const read = (page: Rows) => {
        try {
          const count = countRows(page)
          return JSON.stringify([count, [...iterateRows(page)].map(String)])
        } catch (error) {
          return String(error)
        }
      }
      return read(found.rows) === read(walked.rows)
    }),
    { numRuns: 1000 },
  )
  t.ok(used > 500, `${used} of 1000 responses without a second walk`)
})

t.test('a response with two members data is unreadable, and has no rows of the page', async (t) => {
  const bytes = Buffer.from('{"error":0,"data":{"items":[1,2],"totalItems":2},"data":{"totalItems":0}}')
  t.equal((await readEnvelopeInTurns(bytes)).ok, false)
  t.equal(findRows(bytes).ok, false)
})
