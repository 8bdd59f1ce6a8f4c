/** A collection may have a snapshot only if tests compare what is computed from it. */
import t from 'tap'
import { compilePolicy } from '../../../../src/cache/policy.ts'
import { catalogue } from '../../../../src/contracts/index.ts'
import { collections } from '../../../support/engine/arrays.ts'
import { kinds, pathOf } from '../../../system/joined/cluster.ts'
import { tables } from '../../collections/differential/tables.ts'

const records = catalogue.flatMap(({ path, ...record }) => {
  const policy = compilePolicy({ path, ...record })
  return typeof policy === 'string' || policy.snapshot === undefined ? [] : [{ path, policy }]
})

t.test('the rows of every snapshot are compared with an oracle by check:queries', async (t) => {
  t.ok(records.length >= 40, `${records.length} collections`)
  for (const { path, policy } of records) {
    const name = policy.snapshot ?? ''
    t.ok(Object.hasOwn(tables, name) || Object.hasOwn(collections, name), `${path}: ${name} has an oracle`)
  }
})

t.test('every joined collection with a snapshot is compared with the rows of all nodes', async (t) => {
  const joined = records.filter(({ policy }) => policy.isJoined).map(({ path }) => path)
  t.ok(joined.length > 0)
  for (const path of joined) t.ok(kinds.map(pathOf).includes(path), path)
})
