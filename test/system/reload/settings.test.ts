import t, { type Test } from 'tap'
import { effectOf } from '../../../src/config/reloadable.ts'
import { schema } from '../../../src/config/schema.ts'
import { getIn, listLeaves, pathOf, setIn } from '../../../src/config/tree.ts'
import { type Reloadable, reloadable } from './edge.ts'
import type { Proof } from './proof.ts'
import { proofs as access } from './proofs/access.ts'
import { proofs as cache } from './proofs/cache.ts'
import { proofs as cluster } from './proofs/cluster.ts'
import { proofs as listener } from './proofs/listener.ts'
import { proofs as records } from './proofs/records.ts'
import { proofs as signIn } from './proofs/sign-in.ts'

const proofsOfParts: Readonly<Record<string, readonly Proof[]>> = { listener, cluster, cache, access, records, signIn }
const proofs = Object.values(proofsOfParts).flat()

function treeOf(changes: Proof['changes']): Readonly<Record<string, unknown>> {
  const tree = {}
  for (const [path, value] of Object.entries(changes)) setIn(tree, pathOf(path), value)
  return tree
}

t.test('each setting that a reload changes has a row here', async (t) => {
  const names = listLeaves(schema).map(({ path }) => path.join('.'))
  const reloaded = names.filter((name) => effectOf(pathOf(name)) !== 'restart')
  const changed = proofs.map(({ changes }) => treeOf(changes))
  const isProved = (name: string) => changed.some((tree) => getIn(tree, pathOf(name)) !== undefined)
  t.strictSame(names.filter(isProved), reloaded, 'proofs in test/system/reload/proofs')
})

async function start(t: Test, { start: options }: Proof): Promise<Reloadable> {
  const { settings, world } = (typeof options === 'function' ? await options(t) : options) ?? {}
  return reloadable(t, settings, world)
}

async function change(t: Test, edge: Reloadable, { changes }: Proof): Promise<void> {
  const failures = () => edge.logged('configuration not reloaded, the last valid one stays in use')
  const before = failures().length
  await edge.change(changes)
  t.strictSame(failures().slice(before), [])
}

async function prove(t: Test, proof: Proof): Promise<void> {
  const { before, after, isFinal, observe } = proof
  const edge = await start(t, proof)
  t.strictSame(await observe(edge), before, 'before')
  const changed = isFinal ? await start(t, proof) : edge
  await change(t, changed, proof)
  t.strictSame(await observe(changed), after, 'after')
}

/**
 * Two parts at once, because many proofs wait for a timeout or a delay. With all at once, the event loop was late for the
 * shortest ones. The proofs of a part share what receives its data.
 */
t.jobs = 2
for (const [part, ofPart] of Object.entries(proofsOfParts)) {
  t.test(`settings of ${part}`, { buffered: true }, async (t) => {
    for (const proof of ofPart)
      await t.test(`a change of ${Object.keys(proof.changes).join(' and ')} takes effect without a restart`, (t) =>
        prove(t, proof),
      )
  })
}
