/** The description of the API has the same fields of an explanation as the code. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Explanation, InvalidatingWrite } from '../../../src/core/cache.ts'

/** The compiler asks for each field. */
type FieldsOf<Described> = Readonly<Record<keyof Described, true>>
const fields: FieldsOf<Explanation> = {
  endpoint: true,
  cacheable: true,
  reason: true,
  url: true,
  key: true,
  group: true,
  scope: true,
  tags: true,
  next: true,
  invalidatedBy: true,
}
const ofNext: FieldsOf<Explanation['next']> = { hit: true, reason: true, age: true, timeLeft: true }
const ofWrite: FieldsOf<InvalidatingWrite> = { write: true, tags: true, when: true }

const { schemas } = JSON.parse(readFileSync('src/catalogue/items/schemas.json', 'utf8'))
const described = schemas.CacheExplanation

t.test('each field of an explanation is described', async (t) => {
  t.strictSame(namesIn(described), Object.keys(fields).sort())
  t.strictSame(namesIn(described['next?']), Object.keys(ofNext).sort())
  t.strictSame(namesIn(described['invalidatedBy?'][0]), Object.keys(ofWrite).sort())
})

/** One entry may name several fields: `age?, timeLeft?`. */
function namesIn(schema: object): readonly string[] {
  return Object.keys(schema)
    .flatMap((names) => names.split(', '))
    .map((name) => name.replace(/\?$/, ''))
    .sort()
}
