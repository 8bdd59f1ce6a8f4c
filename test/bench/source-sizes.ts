/** The sizes of the source files in `src`, beside the goals of docs/architecture.md. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

export interface SourceSize {
  readonly name: string
  readonly value: number
  readonly max: number
}

export function sourceSizes(folder = 'src'): readonly SourceSize[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  const texts = paths.map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }))
  const lines = texts.map(({ text }) => text.split('\n').length - 1).sort((a, b) => a - b)
  const functions = texts.flatMap(({ path, text }) => functionLengths(path, text)).sort((a, b) => b.lines - a.lines)
  return [
    { name: 'files in src', value: paths.length, max: 340 },
    { name: 'their lines', value: lines.reduce((sum, count) => sum + count, 0), max: 44_000 },
    { name: 'median lines of a file', value: lines[lines.length >> 1] ?? 0, max: 100 },
    { name: `lines of the longest function (${functions[0]?.place})`, value: functions[0]?.lines ?? 0, max: 80 },
  ]
}

/** Returns the lines of each function with a body, without the comment in front of it. */
function functionLengths(path: string, text: string): readonly { readonly place: string; readonly lines: number }[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const found: { place: string; lines: number }[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
      const last = source.getLineAndCharacterOfPosition(node.end).line
      found.push({ place: `${path}:${first + 1}`, lines: last - first + 1 })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}
