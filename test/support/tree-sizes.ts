/**
 * The size of a working tree: lines of TypeScript, and the names of settings, metrics, commands and routes. They are read
 * from the text of its files, so that the tree of another commit can be measured without its libraries.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface TreeSizes {
  readonly lines: Readonly<Record<'src' | 'src without layouts' | 'test' | 'packages', number>>
  readonly names: Readonly<Record<'settings' | 'metrics' | 'commands' | 'routes', readonly string[]>>
}

/** What makes nodes of the v4 layout answer clients of the v3 contract: dialects, tokens of nodes, translations. */
const LAYOUTS = /^src\/(?:layouts|contracts\/translations|upstream\/tokens)\//
const SETTING = /^\| `([^`]+)`<br>`EDGE_/gm
const METRIC = /'((?:edge|http)_[a-z0-9_]+)'/g
const COMMAND = /(?:new Command|connected)\('([a-z-]+)'|\.command\('([a-z-]+)/g
const ROUTE = /\bapp\.(get|post|put|delete)(?:<[^(]*>)?\(\s*(?:'([^']+)'|([A-Z_]+)),/g

/** Counts files that git tracks, as they are in the working tree. */
export function sizesOf(folder: string): TreeSizes {
  const files = execFileSync('git', ['ls-files', '--', 'src', 'test', 'packages'], { cwd: folder, encoding: 'utf8' })
    .split('\n')
    .filter((path) => /\.tsx?$/.test(path))
  const text = (path: string): string => readFileSync(join(folder, path), 'utf8')
  const textsIn = (start: string): readonly string[] => files.filter((path) => path.startsWith(start)).map(text)
  const linesOf = (paths: readonly string[]): number =>
    paths.reduce((sum, path) => sum + text(path).split('\n').length - 1, 0)
  const linesIn = (start: string): number => linesOf(files.filter((path) => path.startsWith(start)))
  const ofCommands = files.filter((path) => path.startsWith('src/cli/') || path.includes('/src/commands/'))
  return {
    lines: {
      src: linesIn('src/'),
      'src without layouts': linesOf(files.filter((path) => path.startsWith('src/') && !LAYOUTS.test(path))),
      test: linesIn('test/'),
      packages: linesIn('packages/'),
    },
    names: {
      settings: groupsOf(SETTING, text('docs/configuration.md')).map(([name]) => name),
      metrics: groupsOf(METRIC, text('src/telemetry/metrics/table.ts')).map(([name]) => name),
      commands: ofCommands.flatMap((path) => commandsIn(text(path))).toSorted(),
      routes: routesIn(
        ['src/admin/', 'src/status/', 'packages/console/server/', 'packages/reference/server/']
          .flatMap(textsIn)
          .join(''),
      ).toSorted(),
    },
  }
}

function groupsOf(pattern: RegExp, text: string): readonly (readonly [string, ...string[]])[] {
  return [...text.matchAll(pattern)].map(([, ...groups]) => groups as [string, ...string[]])
}

/** A command of a group has the name of the group in front. */
function commandsIn(text: string): readonly string[] {
  let last = ''
  return groupsOf(COMMAND, text).map(([name, member]) => {
    last = name ?? last
    return member === undefined ? last : `${last} ${member}`
  })
}

function routesIn(text: string): readonly string[] {
  return groupsOf(ROUTE, text).map(([method, path, constant]) => {
    const url = path ?? new RegExp(`const ${constant} = '([^']+)'`).exec(text)?.[1] ?? constant
    return `${method.toUpperCase()} ${url}`
  })
}
