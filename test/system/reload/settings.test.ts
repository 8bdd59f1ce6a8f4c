/** The smallest form: one setting of each part. `every-setting.test.ts` changes all. */
import t from 'tap'
import { schema } from '../../../src/config/schema.ts'
import { getIn, type Leaf, listLeaves } from '../../../src/config/tree.ts'
import { proofsOfParts, prove, treeOf } from './prove.ts'

t.test('each setting that a reload changes has a row here', async (t) => {
  const namesOf = (leaves: readonly Leaf[]) => leaves.map(({ path }) => path.join('.'))
  const leaves = listLeaves(schema)
  const changed = Object.values(proofsOfParts)
    .flat()
    .map(({ changes }) => treeOf(changes))
  const proved = leaves.filter(({ path }) => changed.some((tree) => getIn(tree, path) !== undefined))
  const reloaded = leaves.filter(({ effect }) => effect !== 'restart')
  t.strictSame(namesOf(proved), namesOf(reloaded), 'proofs in test/system/reload/proofs')
})

for (const [part, proofs] of Object.entries(proofsOfParts))
  t.test(`a setting of ${part}`, (t) => prove(t, proofs.slice(0, 1)))
