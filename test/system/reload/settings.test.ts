/** The smallest form: one setting of each part. `every-setting.test.ts` changes all. */
import t from 'tap'
import { effectOf } from '../../../src/config/reloadable.ts'
import { schema } from '../../../src/config/schema.ts'
import { getIn, listLeaves, pathOf } from '../../../src/config/tree.ts'
import { proofsOfParts, prove, treeOf } from './prove.ts'

t.test('each setting that a reload changes has a row here', async (t) => {
  const names = listLeaves(schema).map(({ path }) => path.join('.'))
  const reloaded = names.filter((name) => effectOf(pathOf(name)) !== 'restart')
  const changed = Object.values(proofsOfParts)
    .flat()
    .map(({ changes }) => treeOf(changes))
  const isProved = (name: string) => changed.some((tree) => getIn(tree, pathOf(name)) !== undefined)
  t.strictSame(names.filter(isProved), reloaded, 'proofs in test/system/reload/proofs')
})

for (const [part, proofs] of Object.entries(proofsOfParts))
  t.test(`a setting of ${part}`, (t) => prove(t, proofs.slice(0, 1)))
