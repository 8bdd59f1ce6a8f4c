/**
 * Compiles all sources and tests once for a run of the suite: removing the types in each worker would take much of its CPU
 * time.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { transformSync } from 'rolldown/utils'

const options = {
  lang: 'ts',
  tsconfig: false,
  sourcemap: true,
  typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
} as const

/** Folders with TypeScript. */
const SOURCES: readonly string[] = ['src', 'test', 'packages']
const NOT_LINKED: readonly string[] = [...SOURCES, '.git', 'node_modules']

/**
 * Writes the compiled tree to `folder` and returns the number of compiled files. Each TypeScript file has a compiled one
 * beside it; everything else is a link, so that relative paths lead to the same files as in the sources. The libraries that
 * the build has bundled stand in front of the others, which Node.js finds in the folder above.
 */
export function compileSuite(folder: string): number {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const name of readdirSync('.')) {
    if (!NOT_LINKED.includes(name) && name !== folder) symlinkSync(resolve(name), join(folder, name))
  }
  symlinkSync(resolve('dist/libraries'), join(folder, 'node_modules'))
  let compiled = 0
  for (const file of SOURCES.flatMap(filesIn)) {
    const target = join(folder, file)
    mkdirSync(dirname(target), { recursive: true })
    symlinkSync(resolve(file), target)
    if (!/(?<!\.d)\.ts$/.test(file)) continue
    compile(file, target.replace(/\.ts$/, '.js'))
    compiled += 1
  }
  return compiled
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function compile(source: string, target: string): void {
  const { code, map, errors } = transformSync(resolve(source), readFileSync(source, 'utf8'), options)
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${source}: ${error.message}`)
  writeFileSync(`${target}.map`, JSON.stringify(map))
  writeFileSync(
    target,
    `${source.endsWith('.test.ts') ? withOwnRoot(code) : code}\n//# sourceMappingURL=${target.split('/').at(-1)}.map\n`,
  )
  // Code that asks whether the build is newer than the sources also sees this file.
  const { atime, mtime } = statSync(source)
  utimesSync(target, atime, mtime)
  utimesSync(`${target}.map`, atime, mtime)
}

/** A worker runs many files, and tap has one root test per process: the worker gives each file its own root test. */
function withOwnRoot(code: string): string {
  return code.replace(/^import t from "tap";$/m, 'import tap from "tap"; const t = tap.context.root ?? tap;')
}
