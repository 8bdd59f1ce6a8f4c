/** The documents of the repository, for the tests that compare them with the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Document {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
}

export function documents(): readonly Document[] {
  const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name))
  const paths = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'test/README.md', ...docs]
  return paths.filter((path) => path.endsWith('.md')).map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

/** Returns the text of one document. Throws if it does not exist. */
export function textOf(path: string): string {
  return readFileSync(path, 'utf8')
}
