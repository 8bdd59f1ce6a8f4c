import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readyMadeRoles } from '../../../src/access/roles.ts'
import { type ErrorDefinition, errorTable } from '../../../src/core/errors.ts'

const readme = readFileSync('README.md', 'utf8')

t.test('the README lists the errors of the edge itself as they are', async (t) => {
  const rows: [string, ErrorDefinition][] = Object.entries(errorTable)
  const own = rows.filter(([code]) => Number(code) >= 900 && Number(code) < 950)
  t.ok(own.length > 15)
  for (const [code, { status, message, remedy }] of own) {
    t.ok(readme.includes(`| ${code} | ${status} | ${message} | ${remedy} |`), code)
  }
  t.equal(readme.match(/^\| 9\d\d \|/gm)?.length, own.length, 'and no others')
})

t.test('the README names every ready-made role', async (t) => {
  for (const role of Object.keys(readyMadeRoles)) t.ok(readme.includes(`| \`${role}\` |`), role)
})

t.test('every file that the README points to is there', async (t) => {
  const files = [...readme.matchAll(/(?:\]\(|`)((?:docs|config|test|src)\/[\w./-]+)/g)].map((match) => match[1] ?? '')
  t.ok(files.length > 5)
  for (const file of files) t.ok(existsSync(file), file)
})

t.test('every command of package.json that the README names is there', async (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
  for (const [, name = ''] of readme.matchAll(/npm run ([\w:]+)/g)) t.ok(scripts[name], name)
})
