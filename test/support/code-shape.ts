/**
 * The shape of the code of `src`: long functions, long files, and which files use an export. Files are parsed, not type
 * checked, so that a test can read the whole tree in seconds.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'

export const MAX_FUNCTION_LINES = 60
export const MAX_FILE_LINES = 200
/** The sentence in the head of a file that may be longer, such as `Over 200 lines: a table of all metrics.` */
const REASON = /Over 200 lines: [^.]+\./

export interface LongFunction {
  readonly place: string
  readonly name: string
  readonly lines: number
}

export interface LongFile {
  readonly path: string
  readonly lines: number
  readonly reason?: string
}

/** One name that a file of `src` exports, and the files that import it, apart from itself. */
export interface Export {
  readonly path: string
  readonly name: string
  readonly isType: boolean
  /** Whether the file itself also uses the name. */
  readonly isUsedInside: boolean
  readonly users: readonly string[]
  /** The names of its file by which it is declared, directly or not: types and exports, and values that only the file uses. */
  readonly declaredBy: { readonly words: ReadonlySet<string>; readonly privateValues: ReadonlySet<string> }
}

export interface CodeShape {
  readonly longFunctions: readonly LongFunction[]
  readonly longFiles: readonly LongFile[]
  readonly exports: readonly Export[]
}

/** Reads the files of a working tree that git tracks. */
export function shapeOf(folder: string): CodeShape {
  const paths = execFileSync('git', ['ls-files', '--', 'src', 'test', 'packages'], { cwd: folder, encoding: 'utf8' })
    .split('\n')
    .filter((path) => /\.(?:tsx?|mjs)$/.test(path))
  const sources = new Map(
    paths.map((path) => [
      path,
      ts.createSourceFile(path, readFileSync(join(folder, path), 'utf8'), ts.ScriptTarget.ES2023, true),
    ]),
  )
  const code = [...sources].filter(([path]) => /^src\/.*\.ts$/.test(path))
  const uses = usesOf(sources)
  return {
    longFunctions: code.flatMap(longFunctionsOf).toSorted((a, b) => b.lines - a.lines),
    longFiles: code.flatMap(longFilesOf).toSorted((a, b) => b.lines - a.lines),
    exports: code.flatMap(([path, source]) => {
      const declaredBy = declarationsIn(source)
      return declaredExports(source).map(({ name, isType }) => ({
        path,
        name,
        isType,
        isUsedInside: occurrences(source, name) > 1,
        users: [...(uses.get(`${path} ${name}`) ?? []), ...(uses.get(`${path} *`) ?? [])],
        declaredBy: declaredBy(name),
      }))
    }),
  }
}

/**
 * Returns whether only tests import a value, or nothing at all. A type belongs to the signature of an exported value, by whose
 * name tests may refer to it; it counts if no other file imports it.
 */
export function isForTestsOnly({ isType, users }: Export): boolean {
  return isType ? users.length === 0 : users.every((path) => /(?:^|\/)test\//.test(path))
}

/** `src/cache/fetch.ts` → `cache`, `packages/mcp/src/index.ts` → `packages/mcp`; a file directly in `src` is a room. */
export function roomOf(path: string): string {
  return /^(?:src\/([^/.]+)|(packages\/[^/]+))/.exec(path)?.slice(1).find(Boolean) ?? path
}

/**
 * Returns the exports of `core/` that one room alone uses, with that room. Without what belongs to an export of several rooms: the
 * words in which it is stated, and what shares its private values.
 */
export function ofOneRoom(exports: readonly Export[]): readonly (Export & { readonly room: string })[] {
  const ofCore = exports.filter(({ path }) => path.startsWith('src/core/'))
  return ofCore.flatMap((each) => {
    const [room, ...others] = roomsOf(each)
    if (room === undefined || room === 'core' || others.length > 0) return []
    const shared = ofCore.filter(
      (other) => other.path === each.path && other !== each && roomsOf(other).some((name) => name !== room),
    )
    const belongs = shared.some(
      ({ declaredBy: { words, privateValues } }) =>
        words.has(each.name) || [...privateValues].some((name) => each.declaredBy.privateValues.has(name)),
    )
    return belongs ? [] : [{ ...each, room }]
  })
}

/** The rooms that use an export, without its own file. */
function roomsOf({ users }: Export): readonly string[] {
  return [...new Set(users.filter((path) => !/(?:^|\/)test\//.test(path)).map(roomOf))]
}

type Source = readonly [path: string, source: ts.SourceFile]

function longFunctionsOf([path, source]: Source): readonly LongFunction[] {
  const found: LongFunction[] = []
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const first = lineOf(node.getStart(source))
      const lines = lineOf(node.end) - first + 1
      if (lines > MAX_FUNCTION_LINES) found.push({ place: `${path}:${first}`, name: nameOf(node), lines })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function nameOf(node: ts.SignatureDeclaration | ts.Node): string {
  const named = ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent : node
  return 'name' in named && named.name !== undefined ? (named.name as ts.Node).getText() : '(no name)'
}

function longFilesOf([path, source]: Source): readonly LongFile[] {
  const lines = source.text.split('\n').length - 1
  if (lines <= MAX_FILE_LINES) return []
  const head = /^\/\*\*[\s\S]*?\*\//.exec(source.text)?.[0].replaceAll(/\s+\*?\s*/g, ' ') ?? ''
  const reason = REASON.exec(head)?.[0]
  return [{ path, lines, ...(reason === undefined ? {} : { reason }) }]
}

function declaredExports(source: ts.SourceFile): readonly Pick<Export, 'name' | 'isType'>[] {
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement) && statement.exportClause && ts.isNamedExports(statement.exportClause))
      return statement.exportClause.elements.map((each) => ({
        name: each.name.text,
        isType: statement.isTypeOnly || each.isTypeOnly,
      }))
    if (!ts.canHaveModifiers(statement)) return []
    if (!ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    const isType = isTypeStatement(statement)
    return namesOf(statement).map((name) => ({ name, isType }))
  })
}

/** Returns, for each name that a file declares, by which of its other names. */
function declarationsIn(source: ts.SourceFile): (name: string) => Export['declaredBy'] {
  const statements = new Map<string, ts.Statement>()
  for (const statement of source.statements) for (const name of namesOf(statement)) statements.set(name, statement)
  const exported = new Set(declaredExports(source).map(({ name }) => name))
  return (first) => {
    const found = new Set([first])
    // A set grows while it is read.
    for (const name of found) {
      const visit = (node: ts.Node): void => {
        if (ts.isIdentifier(node) && statements.has(node.text)) found.add(node.text)
        ts.forEachChild(node, visit)
      }
      const statement = statements.get(name)
      if (statement !== undefined) visit(statement)
    }
    const isPrivate = (name: string): boolean => !exported.has(name) && !isTypeStatement(statements.get(name))
    return { words: found, privateValues: new Set([...found].filter(isPrivate)) }
  }
}

function isTypeStatement(statement: ts.Statement | undefined): boolean {
  return statement !== undefined && (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
}

function namesOf(statement: ts.Statement): readonly string[] {
  const declarations = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement]
  return declarations.flatMap((each) => {
    const { name } = each as ts.NamedDeclaration
    return name !== undefined && ts.isIdentifier(name) ? [name.text] : []
  })
}

function occurrences(source: ts.SourceFile, name: string): number {
  return (
    source.text
      .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
      .split(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`)).length - 1
  )
}

/** Returns the files that import a name, by `PATH NAME`. The name is `*` where a file imports all of them. */
function usesOf(sources: ReadonlyMap<string, ts.SourceFile>): ReadonlyMap<string, ReadonlySet<string>> {
  const uses = new Map<string, Set<string>>()
  for (const [path, source] of sources)
    for (const { from, names } of importsOf(path, source))
      for (const name of names) {
        const key = `${from} ${name}`
        uses.set(key, (uses.get(key) ?? new Set()).add(path))
      }
  return uses
}

interface Import {
  readonly from: string
  readonly names: readonly string[]
}

function importsOf(path: string, source: ts.SourceFile): readonly Import[] {
  if (path.endsWith('.mjs')) return importsOfBuild(source.text)
  const found: Import[] = []
  const add = (specifier: ts.Node | undefined, names: readonly string[]): void => {
    if (specifier && ts.isStringLiteralLike(specifier) && specifier.text.startsWith('.'))
      found.push({ from: join(dirname(path), specifier.text), names })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, importedNames(node.importClause, source))
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, reexportedNames(node))
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, [node.qualifier?.getText(source) ?? '*'])
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], namesOfDynamicImport(node))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function importedNames(clause: ts.ImportClause | undefined, source: ts.SourceFile): readonly string[] {
  const bindings = clause?.namedBindings
  if (bindings === undefined) return []
  if (ts.isNamedImports(bindings)) return bindings.elements.map((each) => (each.propertyName ?? each.name).text)
  return [...source.text.matchAll(new RegExp(`\\b${bindings.name.text}\\.(\\w+)`, 'g'))].map(([, name]) => name ?? '')
}

function reexportedNames({ exportClause }: ts.ExportDeclaration): readonly string[] {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return ['*']
  return exportClause.elements.map((each) => (each.propertyName ?? each.name).text)
}

/** `const { name } = await import(…)` names what it takes; other forms may take all. */
function namesOfDynamicImport(call: ts.CallExpression): readonly string[] {
  const declaration = ts.isAwaitExpression(call.parent) ? call.parent.parent : call.parent
  if (!ts.isVariableDeclaration(declaration) || !ts.isObjectBindingPattern(declaration.name)) return ['*']
  return declaration.name.elements.map((each) => (each.propertyName ?? each.name).getText())
}

/** The build imports compiled files by their paths below `src`, such as `'config/schema.js'`. */
function importsOfBuild(text: string): readonly Import[] {
  const names = [...new Set(text.match(/\b[A-Za-z_]\w+/g))]
  return [...text.matchAll(/['/]([\w-]+(?:\/[\w-]+)+)\.js'/g)].map(([, path]) => ({ from: `src/${path}.ts`, names }))
}
