import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { runnableOf } from '../support/typescript/script.ts'

/** An import that the type check does not see: of a plain script, or of a program that a test passes to Node.js as text. */
interface TextImport {
  readonly names: readonly string[]
  /** The module as the source states it. */
  readonly specifier: string
}

const IMPORT = /(?:const|import) \{([\w\s,:]+)\} (?:= await import\((.+)\)$|from (.+)$)/gm
/** What else names of files are relative to. The build writes the check of settings beside its source. */
const FOLDERS = ['src', 'src/config', 'test/support']
const FILE_NAME = /'([^'$]+\.(?:ts|js|mjs))'/

function importsIn(path: string, text: string): readonly TextImport[] {
  const all = [...text.matchAll(IMPORT)].map(([, names = '', dynamic, fixed]) => ({
    names: names.split(',').map((name) => name.trim().replace(/(?::| as ).*/, '')),
    specifier: dynamic ?? fixed ?? '',
  }))
  return path.endsWith('.mjs') ? all.filter(({ specifier }) => isOfTree(specifier)) : all.filter(isInterpolated)
}

const isInterpolated = ({ specifier }: TextImport) => specifier.includes('${')
const isOfTree = (specifier: string) => !/^'[^.]/.test(specifier)

/** Returns the source of a module. A constant is read as the file in its definition, a compiled file as its source. */
function sourceOf(path: string, text: string, specifier: string): string | undefined {
  const constants = [...specifier.matchAll(/\b[A-Za-z]\w+/g)].map(([name]) =>
    new RegExp(`^ *const ${name} = .*$`, 'm').exec(text),
  )
  const [, name = ''] = FILE_NAME.exec([specifier, ...constants.flatMap((match) => match ?? [])].join('\n')) ?? []
  const folders = [dirname(path), join(dirname(path), 'src'), ...FOLDERS]
  return folders
    .flatMap((folder) => [join(folder, name), join(folder, name.replace(/\.js$/, '.ts'))])
    .find((file) => name !== '' && existsSync(file))
}

t.test('every import in plain scripts and in programs as text names an export', async (t) => {
  const paths = ['src', 'packages', 'packaging', 'test', '.ci']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)))
    .filter((path) => /\.(?:ts|mjs)$/.test(path) && !path.includes('node_modules'))
  const checked: string[] = []
  for (const path of paths) {
    const text = readFileSync(path, 'utf8')
    for (const { names, specifier } of importsIn(path, text)) {
      const source = sourceOf(path, text, specifier)
      if (source === undefined) {
        t.fail(`${path}: no file found for ${specifier}`)
        continue
      }
      const exported: object = await import(runnableOf(new URL(`../../${source}`, import.meta.url)).href)
      for (const name of names) t.ok(name in exported, `${path}: ${source} exports ${name}`)
      checked.push(path)
    }
  }
  t.match(new Set(checked), new Set(['src/build.mjs', 'packages/reference/build.mjs']))
  t.ok(checked.length > 10, `${checked.length} imports`)
})

t.test('every file that the build names exists', async (t) => {
  const names = [...readFileSync('src/build.mjs', 'utf8').matchAll(/join\(COMPILED, '([^']+)\.js'\)/g)]
  t.ok(names.length >= 3)
  for (const [, name] of names) t.ok(existsSync(`src/${name}.ts`), `src/${name}.ts`)
})
