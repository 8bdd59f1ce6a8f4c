/** Runs proofs that a changed setting takes effect without a restart. */
import type { Test } from 'tap'
import { pathOf, setIn } from '../../../src/config/tree.ts'
import { type Reloadable, reloadable } from './edge.ts'
import type { Proof } from './proof.ts'
import { proofs as access } from './proofs/access.ts'
import { proofs as cache } from './proofs/cache.ts'
import { proofs as cluster } from './proofs/cluster.ts'
import { proofs as listener } from './proofs/listener.ts'
import { proofs as records } from './proofs/records.ts'
import { proofs as signIn } from './proofs/sign-in.ts'

export const proofsOfParts: Readonly<Record<string, readonly Proof[]>> = {
  listener,
  cluster,
  cache,
  access,
  records,
  signIn,
}

export function treeOf(changes: Proof['changes']): Readonly<Record<string, unknown>> {
  const tree = {}
  for (const [path, value] of Object.entries(changes)) setIn(tree, pathOf(path), value)
  return tree
}

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

/** Tests each proof, one after the other. */
export async function prove(t: Test, proofs: readonly Proof[]): Promise<void> {
  for (const proof of proofs) {
    const { before, after, isFinal, observe, changes } = proof
    await t.test(`a change of ${Object.keys(changes).join(' and ')} takes effect without a restart`, async (t) => {
      const edge = await start(t, proof)
      t.strictSame(await observe(edge), before, 'before')
      const changed = isFinal ? await start(t, proof) : edge
      await change(t, changed, proof)
      t.strictSame(await observe(changed), after, 'after')
    })
  }
}
