import t from 'tap'
import { isForTestsOnly, MAX_FUNCTION_LINES, ofOneRoom, shapeOf } from '../support/code-shape.ts'
import { MAX_RELEASE_5_LINES, release5Lines } from '../support/release-5-code.ts'

const { exports, longFunctions } = shapeOf('.')

t.test('the edge exports what other files of the edge or of packages import', async (t) => {
  t.ok(exports.length > 1000, `${exports.length} exports read`)
  t.strictSame(
    exports.filter(isForTestsOnly).map(({ path, name }) => `${path} ${name}`),
    [],
  )
})

t.test('core has nothing that one room alone uses', async (t) => {
  t.strictSame(
    ofOneRoom(exports).map(({ path, name, room }) => `${path} ${name}: ${room}`),
    [],
  )
})

t.test(`a function of the edge has at most ${MAX_FUNCTION_LINES} lines`, async (t) => {
  t.strictSame(longFunctions, [])
})

t.test(`release 5.0 of the manager takes at most ${MAX_RELEASE_5_LINES} lines that are not data`, async (t) => {
  const lines = release5Lines('.')
  for (const path of ['src/upstream/cluster-key.ts', 'src/upstream/kinds.ts', 'src/layouts/v4-contract.ts'])
    t.ok(lines.has(path), path)
  const sum = [...lines.values()].reduce((all, each) => all + each, 0)
  t.ok(sum > 200 && sum <= MAX_RELEASE_5_LINES, `${sum} lines`)
})
