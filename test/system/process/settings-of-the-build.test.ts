import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { loadConfig } from '../../../src/config/index.ts'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves, setIn } from '../../../src/config/tree.ts'
import { result } from './program.ts'

/** Each is wrong for most settings. */
const WRONG: readonly unknown[] = [
  'no such value!',
  '',
  -1,
  1.5,
  {},
  { 'a key': { unknown: 1 } },
  [''],
  [{ unknown: 1 }],
]

t.test('the build reports the faults of settings in the same words as the sources', async (t) => {
  const folder = t.testdir({})
  let faults = 0
  for (const [at, wrong] of WRONG.entries()) {
    const tree = { unknown: wrong }
    for (const { path } of listLeaves(schema)) setIn(tree, path, wrong)
    const file = join(folder, `edge-${at}.yaml`)
    writeFileSync(file, stringify(tree))
    const expected = await loadConfig({ file, env: {} })
    if (expected.ok) throw new Error('the settings are not wrong')
    const { code, err } = await result(t, ['check', '--config', file])
    t.equal(code, 2)
    t.strictSame(err.trim().split('\n'), expected.faults, JSON.stringify(wrong))
    faults += expected.faults.length
  }
  t.ok(faults > 500, `${faults} faults`)
})
