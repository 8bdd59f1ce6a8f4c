import t from 'tap'
import { compileProjection } from '../../../src/collections/select.ts'
import { sources } from '../../../src/collections/sources.ts'
import { renameInSelect } from '../../../src/collections/v4-names.ts'

t.test('names that the manager accepts and that select nothing are ignored, and not sent', async (t) => {
  const row = { id: 1, title: 'a', compliance: [{ key: 'cis', value: '1' }], rules: [] }
  for (const name of sources.scaChecks.ignoredInSelect) {
    t.strictSame(compileProjection(`id,${name}`, sources.scaChecks)(row), { id: 1 }, name)
    t.equal(renameInSelect(`id,${name},title`, { source: 'scaChecks' }), 'id,title', name)
  }
  t.throws(() => compileProjection('id,compliance.nope', sources.scaChecks), { code: 1724 })
})
