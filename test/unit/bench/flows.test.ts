import { resolve } from 'node:path'
import t from 'tap'
import { FLOWS, measureFlows } from '../../support/entered-functions.ts'

t.test('a request enters at most as many functions as its flow allows', async (t) => {
  const found = await measureFlows(resolve(import.meta.dirname, '../../../src'))
  for (const [at, { name, most }] of FLOWS.entries()) {
    const count = found[at]?.functions.length ?? 0
    t.ok(count > most / 2 && count <= most, `${name}: ${count} of at most ${most} (npm run flows -- --list ${at + 1})`)
  }
})
