/**
 * The code of `src` that exists because of release 5.0 of the manager, found by its text: whole files whose head names the release;
 * elsewhere whole declarations and members that name it anywhere, also where few of their lines are about it, and what only these
 * use. Of the contracts, which are data, functions alone count.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export const MAX_RELEASE_5_LINES = 600

const NAMES_RELEASE = /(?<![\d.])5\.0(?!\d|\.\d)|release_?5|\bv5\b|\bgoneProblem\b/i
const HEAD = /^\/\*\*[\s\S]*?\*\//

/** Returns the lines by file, comments included, for files that git tracks. */
export function release5Lines(folder: string): ReadonlyMap<string, number> {
  const paths = execFileSync('git', ['ls-files', '--', 'src'], { cwd: folder, encoding: 'utf8' }).split('\n')
  const found = new Map<string, number>()
  for (const path of paths.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(folder, path), 'utf8')
    const lines = NAMES_RELEASE.test(text) ? linesIn(path, text) : 0
    if (lines > 0) found.set(path, lines)
  }
  return found
}

function linesIn(path: string, text: string): number {
  const isData = path.startsWith('src/contracts/')
  const isWhole = NAMES_RELEASE.test(HEAD.exec(text)?.[0] ?? '')
  if (!isData && isWhole) return text.split('\n').length - 1
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const units = source.statements.filter((each) => !ts.isImportDeclaration(each)).flatMap(unitsOf)
  const counted = new Set(
    units.filter((unit) => isWhole || NAMES_RELEASE.test(text.slice(startOf(unit, source), unit.end))),
  )
  // A set grows while it is read.
  for (const _ of counted) for (const unit of units) if (isUsedBy(unit, units, counted)) counted.add(unit)
  const code = [...counted].filter((unit) => !isData || ts.isFunctionDeclaration(unit))
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line
  const lines = code.flatMap((unit) => {
    const first = lineOf(startOf(unit, source))
    return Array.from({ length: lineOf(unit.end) - first + 1 }, (_, index) => first + index)
  })
  return new Set(lines).size
}

/** The members of a class or an interface count one by one. */
function unitsOf(statement: ts.Statement): readonly ts.Node[] {
  return ts.isClassDeclaration(statement) || ts.isInterfaceDeclaration(statement) ? [...statement.members] : [statement]
}

/** With the comments in front, but not the head of the file. */
function startOf(unit: ts.Node, source: ts.SourceFile): number {
  const comments = ts.getLeadingCommentRanges(source.text, unit.pos) ?? []
  return comments.find(({ pos }) => pos > 0)?.pos ?? unit.getStart(source)
}

/** Whether the counted units alone use a declaration that its file does not export. */
function isUsedBy(unit: ts.Node, units: readonly ts.Node[], counted: ReadonlySet<ts.Node>): boolean {
  const name = nameOf(unit)
  if (name === undefined || counted.has(unit) || /^export /.test(unit.getText())) return false
  const users = units.filter((each) => each !== unit && new RegExp(`(?<![\\w$])${name}\\b`).test(each.getText()))
  return users.length > 0 && users.every((user) => counted.has(user))
}

function nameOf(unit: ts.Node): string | undefined {
  const declared = ts.isVariableStatement(unit) ? unit.declarationList.declarations[0] : unit
  const { name } = (declared ?? unit) as ts.NamedDeclaration
  return name !== undefined && ts.isIdentifier(name) ? name.text : undefined
}
