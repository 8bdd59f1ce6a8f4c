/**
 * Every regular expression of the program matches in linear time (ReDoS). A scan of the sources finds them all, so that a
 * new one cannot be forgotten. Those that are built from text are listed here, with what the text is made of.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkSync } from 'recheck'
import t from 'tap'
import ts from 'typescript'
import { catalogue } from '../../src/contracts/index.ts'

/** Not part of the server: commands of an operator. */
const NO_SERVER = /^src\/cli[/.]/

/** Not linear, but no client, node or other user of Redis chooses the text, or its length is bounded: file and why. */
const NO_FOREIGN_TEXT: Readonly<Record<string, string>> = {
  'src/access/tokens.ts': 'at most 4 KiB of JSON that was parsed before, in which every string ends',
  'src/audit/record.ts': 'lines of the audit file, which the edge has written',
  'src/cache/tags.ts': 'templates of tags in the catalogue',
  'src/config/environment.ts': 'names of environment variables',
  'src/config/certificates.ts': 'files that the settings name',
  'src/layouts/v4/call.ts': 'templates of translations in the catalogue',
}

/** Expressions that are built at run time: the file and the text of the argument, and what it is made of. */
const BUILT: Readonly<Record<string, string>> = {
  'src/cache/explain.ts: `^${pattern}$`': 'templates of tags; tested against tags of one request',
  'src/cache/tags.ts: entry.matches': 'the catalogue; test/unit/contracts/kinds-are-linear.test.ts',
  "src/cache/purge.ts: `^(?:${[...new Set(bothContracts.flatMap(patternsOf))].join('|')})$`":
    'anchored templates of the catalogue, `.+` in place of a value',
  'src/core/values.ts: `^${IPV4_OCTET}(?:\\\\.${IPV4_OCTET}){3}$`': 'bounded repetitions',
  'src/http/body.ts: kinds.ips.pattern': 'the catalogue; test/unit/contracts/kinds-are-linear.test.ts',
  'src/http/param-checks.ts: within.pattern': 'the catalogue; test/unit/contracts/kinds-are-linear.test.ts',
  'src/http/param-checks.ts: xmlWhen.matches': 'the catalogue; checked below',
  'src/http/validation.ts: pattern': 'the catalogue; test/unit/contracts/kinds-are-linear.test.ts',
  'src/layouts/v4/build-call.ts: byEdgeIf': 'the catalogue; checked below',
}

interface Found {
  readonly where: string
  readonly source: string
  readonly flags: string
}

/** The check takes as long as it needs, also on busy cores. */
const UNLIMITED = { timeout: null }

const literals: Found[] = []
const built: string[] = []

for (const name of readdirSync('src', { recursive: true, encoding: 'utf8' })) {
  const path = join('src', name)
  if (!path.endsWith('.ts') || NO_SERVER.test(path)) continue
  const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  const visit = (node: ts.Node): void => {
    const where = `${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      literals.push({ where, source: node.text.slice(1, end), flags: node.text.slice(end + 1) })
    } else if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText(file) === 'RegExp' &&
      node.arguments?.[0] !== undefined
    ) {
      built.push(`${path}: ${node.arguments[0].getText(file)}`)
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
}

t.test('every literal matches in linear time', async (t) => {
  const each = new Map(literals.map((found) => [`/${found.source}/${found.flags}`, found]))
  const excused = new Set<string>()
  t.ok(each.size > 100, `${each.size} expressions`)
  for (const [text, { where, source, flags }] of each) {
    const found = checkSync(source, flags, UNLIMITED)
    const type = found.status === 'safe' ? found.complexity.type : found.status
    if (type === 'linear' || type === 'safe') continue
    const file = where.slice(0, where.indexOf(':'))
    t.type(NO_FOREIGN_TEXT[file], 'string', `${where}: ${text} is ${type}`)
    excused.add(file)
  }
  for (const file of Object.keys(NO_FOREIGN_TEXT)) t.ok(excused.has(file) || file === 'src/audit/record.ts', file)
})

t.test('every expression in the data of the catalogue matches in linear time', async (t) => {
  const sources = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string' && ['byEdgeIf', 'matches', 'pattern'].includes(name)) sources.add(member)
      else collect(member)
    }
  }
  collect(catalogue)
  t.ok(sources.size >= 5, `${sources.size} expressions`)
  for (const source of sources) {
    const found = checkSync(source, '', UNLIMITED)
    t.equal(found.status, 'safe', source)
  }
})

t.test('every expression that is built from text is listed', async (t) => {
  t.same(built.sort(), Object.keys(BUILT).sort())
})
