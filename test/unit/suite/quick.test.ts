import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import t from 'tap'

/** Prints what `npm run quick -- --list FILES` would run. */
function list(...files: readonly string[]) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import=./test/support/typescript/register.mjs', 'test/support/quick.ts', '--list', ...files],
    { encoding: 'utf8' },
  )
  return { tests: stdout.trim().split('\n').filter(Boolean), stderr, status }
}

t.test('the tests of the room of a changed file come first', async (t) => {
  const rooms = ['access', 'collections', 'upstream', 'config']
  for (const room of rooms) {
    const [file = ''] = readdirSync(`src/${room}`).filter((name) => name.endsWith('.ts') && name !== 'index.ts')
    const { tests } = list(`src/${room}/${file}`)
    t.ok(tests.length > 0 && tests.length <= 8, `${file}: ${tests.length} tests`)
    t.match(tests[0], new RegExp(`^test/unit/${room}/`), file)
  }
})

t.test('a changed test is run itself', async (t) => {
  const file = 'test/unit/suite/quick.test.ts'
  t.equal(list(file).tests[0], file)
})

t.test('a file that does not exist is refused', async (t) => {
  const { stderr, status } = list('src/absent.ts')
  t.match(stderr, /there is no file src\/absent\.ts/)
  t.not(status, 0)
})
