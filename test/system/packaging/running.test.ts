import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { commands } from '../../../src/cli/commands.ts'
import { schema } from '../../../src/config/schema.ts'
import { leavesOf } from '../../../src/config/tree.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'

const running = readFileSync('docs/running.md', 'utf8')
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .map((name) => join('src', name))
  .filter((name) => statSync(name).isFile())
  .map((name) => readFileSync(name, 'utf8'))
  .join('\n')

t.test('what to do when the edge says … is what the errors themselves say', async (t) => {
  const rows = Object.entries<ErrorDefinition>(errorTable)
  const told = [...running.matchAll(/^\| [^|]+ \| (9\d\d) ([^|]+) \| ([^|]+) \|$/gm)]
  for (const [, code = '', message, remedy = ''] of told) {
    const row = rows.find(([known]) => known === code)?.[1]
    t.equal(row?.message, message, code)
    t.ok(row && remedy.startsWith(row.remedy), `${code}: ${remedy}`)
  }
  const failing = rows.filter(([code, { status }]) => Number(code) >= 900 && (status >= 500 || status === 429))
  t.strictSame(
    told.map(([, code]) => code).sort(),
    failing.map(([code]) => code).sort(),
    'each failure that an operator can meet is there, once',
  )
})

t.test('settings, files, scripts and commands that it names are there', async (t) => {
  const settings = new Set(leavesOf(schema).flatMap(({ path }) => path.map((_, at) => path.slice(0, at + 1).join('.'))))
  const named =
    running.match(/\b(?:listen|operations|cluster|cache|access|audit|log)\.[a-zA-Z]+(?:\.[a-zA-Z]+)*/g) ?? []
  t.ok(named.length > 30)
  for (const name of named.filter((each) => each !== 'cache.md')) t.ok(settings.has(name), name)
  const files = [...running.matchAll(/`((?:config|docs)\/[\w./-]+|[A-Z]+\.md)`|\]\((\w+\.md)/g)]
  t.ok(files.length > 5)
  for (const [, own, linked = ''] of files) t.ok(existsSync(own ?? join('docs', linked)), own ?? linked)
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const [, name = ''] of running.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[name], name)
  const known = commands('1').map((command) => command.name())
  for (const [, name = ''] of running.matchAll(/manager-edge (?!and\b)([a-z]+) /g)) t.ok(known.includes(name), name)
})

t.test('log lines and metrics that it names are those of the code', async (t) => {
  for (const [, name = ''] of running.matchAll(/`(edge_[a-z_]+)`/g)) t.ok(sources.includes(`'${name}'`), name)
  const lines = [...running.matchAll(/`([^`]+)`[^|`]* in the log/g), ...running.matchAll(/^\| `([a-z][^`]+)` \| /gm)]
  t.ok(lines.length > 8)
  for (const [, line = ''] of lines) {
    if (['cache.', 'access.users', 'audit.file'].some((prefix) => line.startsWith(prefix))) continue
    t.ok(sources.includes(line), line)
  }
})
