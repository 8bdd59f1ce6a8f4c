import t from 'tap'
import { checkCatalogue } from '../../src/catalogue/check.ts'
import { catalogue } from '../../src/catalogue/index.ts'

t.test('the catalogue has no faults', async (t) => {
  t.strictSame(checkCatalogue(catalogue), [])
  t.equal(catalogue.length, 140)
})
