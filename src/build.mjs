// What `npm run build` does with the sources: it compiles them, writes the code that checks settings, and bundles the program
// and its libraries. `npm run types` checks the types. Node.js spends more than half of the time of a start on finding,
// reading and compiling files: 373 of typebox alone, and some 400 of the program. `npm run bench:start` measures the whole.
// node src/build.mjs [FOLDER [FOLDER OF COMPILED FILES]]: both lie in the folder of package.json, as dist and .compiled do.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { _ } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
import { rolldown } from 'rolldown'
import { transformSync } from 'rolldown/utils'
import { writeBundled } from './bundled.mjs'

/** The libraries that have many files. They stay dependencies: their licences are installed with them. */
const LIBRARIES = [
  '@fastify/basic-auth',
  '@fastify/caching',
  '@fastify/jwt',
  '@fastify/rate-limit',
  '@platformatic/prom-client',
  'ajv',
  'commander',
  'fastest-levenshtein',
  'fastify',
  'find-my-way',
  'ioredis',
  'jose',
  'lru-cache',
  'openid-client',
  'pino',
  'proper-lockfile',
  'typebox',
  'undici',
  'yaml',
]
const FOLDERS = process.argv.slice(2)
/** One file per source. The suite and some benchmarks use these files; they are not installed. */
const COMPILED = resolve(FOLDERS[1] ?? '.compiled')
const SOURCES = resolve('src')
const COMPILE = {
  lang: 'ts',
  tsconfig: false,
  sourcemap: true,
  typescript: { onlyRemoveTypeImports: true, rewriteImportExtensions: 'rewrite' },
}
/** What the edge loads of packages that are installed: plugins (`src/app/packages.ts`), commands (`src/cli/added-commands.ts`). */
const PLUGINS = Object.fromEntries(
  ['console', 'reference'].map((name) => [`${name}-server`, resolve('packages', name, 'server')]),
)
const COMMANDS = Object.fromEntries(
  ['simulator', 'mcp', 'tools'].map((name) => [name, resolve('packages', name, 'src')]),
)
const PACKAGES = { ...COMMANDS, ...PLUGINS }
const entryOf = (name) => (name in PLUGINS ? 'index' : 'commands/index')
const BUILT = resolve(FOLDERS[0] ?? 'dist')
const BUNDLES = join(BUILT, 'libraries')
/** In the bundle, the code that this file would have Ajv write replaces it. */
const SETTINGS_CHECKER = join(COMPILED, 'config/checker.js')
const MODULES = `${sep}node_modules${sep}`
const MCP_LIBRARY = '@modelcontextprotocol/sdk/'
/** The configuration is read later, so a reload is not lost. Without a listener, SIGHUP would end the process. */
const LAUNCHER = `#!/usr/bin/env node
if (process.argv[2] === 'start') process.on('SIGHUP', () => undefined)
await import('./program/cli.js')
`
/** The prefix of modules that have no file: each exports all that a library exports. */
const ENTRY = 'entry:'

for (const folder of [COMPILED, BUILT]) rmSync(folder, { recursive: true, force: true })
compileAll(SOURCES, COMPILED)
for (const [name, sources] of Object.entries(PLUGINS)) compileAll(sources, join(COMPILED, name))
await bundleLibraries()
const settingsChecker = await generateSettingsChecker()
for (const file of readdirSync(COMPILED, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.js')) redirect(join(COMPILED, file))
}
await bundleProgram()
writeFileSync(join(BUILT, 'commit'), `${commitOf()}\n`)

function compileAll(sources, target) {
  for (const file of readdirSync(sources, { recursive: true, encoding: 'utf8' }))
    compile(join(sources, file), join(target, file))
}

/** Writes the compiled file of a TypeScript source with its map, and a copy of a JSON file. */
function compile(source, target) {
  mkdirSync(dirname(target), { recursive: true })
  if (source.endsWith('.json')) copyFileSync(source, target)
  if (!source.endsWith('.ts')) return
  const { code, map, errors } = transformSync(source, readFileSync(source, 'utf8'), COMPILE)
  const [error] = errors
  if (error) throw new SyntaxError(`${source}: ${error.message}`)
  const compiled = target.replace(/\.ts$/, '.js')
  // The compiled plugins lie beside the rooms of the edge.
  const moved = code.replaceAll(/"((?:\.\.\/)+)\.\.\/\.\.\/src\//g, '"$1')
  writeFileSync(compiled, `${moved}\n//# sourceMappingURL=${basename(compiled)}.map\n`)
  writeFileSync(`${compiled}.map`, JSON.stringify(map))
}

/** Returns the commit of the sources: of the repository, or `COMMIT` where there is none (image). */
function commitOf() {
  if (process.env.COMMIT) return process.env.COMMIT
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return stdout?.trim() ?? ''
}

async function bundleLibraries() {
  const entries = {
    name: 'entries',
    resolveId: (id) => (id.startsWith(ENTRY) ? id : null),
    load: async (id) => (id.startsWith(ENTRY) ? exportsOf(id.slice(ENTRY.length)) : null),
  }
  const input = Object.fromEntries(LIBRARIES.map((name) => [name, `${ENTRY}${name}`]))
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'warn', plugins: [entries] })
  await bundle.write({
    dir: BUNDLES,
    format: 'esm',
    comments: false,
    entryFileNames: '[name]/index.js',
    // What several libraries need, as one copy.
    chunkFileNames: 'shared/[name]-[hash].js',
  })
  await bundle.close()
  for (const name of LIBRARIES) {
    writeFileSync(join(BUNDLES, name, 'package.json'), '{ "type": "module", "main": "index.js" }\n')
  }
}

/** Returns the source of a module. It names the exports one by one: `export *` has none if the library is CommonJS. */
async function exportsOf(name) {
  const names = Object.keys(await import(name)).filter((one) => one !== '__esModule' && one !== 'module.exports')
  return `export { ${names.join(', ')} } from '${name}'`
}

/** Returns the code of the function that checks settings. */
async function generateSettingsChecker() {
  const { createAjv } = await import(SETTINGS_CHECKER)
  const { schema } = await import(join(COMPILED, 'config/schema.js'))
  const ajv = createAjv({ source: true, esm: true, formats: _`formats` })
  const imports = "import { formats } from './formats.js'"
  return [imports, standalone.default(ajv, ajv.compile(schema)), 'export const settingsChecker = () => validate'].join(
    '\n',
  )
}

/** Replaces the names of bundled libraries in the imports of a compiled file. No line moves, so its source map stays true. */
function redirect(file) {
  const before = readFileSync(file, 'utf8')
  const bundles = relative(dirname(file), BUNDLES).replace(/^(?!\.)/, './')
  const after = before.replace(/(?<=\bfrom "|\bimport\(")[@\w./-]+(?=")/g, (name) =>
    LIBRARIES.includes(name) ? `${bundles}/${name}/index.js` : name,
  )
  if (after !== before) writeFileSync(file, after)
}

/**
 * Writes `dist/program` and, so that an installation can leave them out, a folder for each package. All share the code of the
 * edge. `dist/mcp` contains the libraries that no other part uses, with their licences. The files lie as deep in `dist` as a
 * compiled file lies in its room, so what the sources find by their own place is found from the bundle too.
 */
async function bundleProgram() {
  // As seen from the folders of the bundle.
  const libraryOf = (path) => ({ id: join('..', relative(BUILT, path)), external: true })
  const files = {
    name: 'files',
    resolveId: (id, importer) => {
      if (importer === undefined || id.startsWith('ajv/dist/runtime/')) return null
      if (importer.includes(MODULES)) return null
      if (LIBRARIES.includes(id)) return libraryOf(join(BUNDLES, id, 'index.js'))
      if (importer.startsWith(PACKAGES.mcp) && id.startsWith(MCP_LIBRARY)) return null
      if (!id.startsWith('.')) return { id, external: true }
      const path = resolve(dirname(importer), id)
      if (path.startsWith(BUNDLES)) return libraryOf(path)
      return path.startsWith(SOURCES + sep) ? join(COMPILED, relative(SOURCES, path)).replace(/\.ts$/, '.js') : path
    },
    load: (id) => {
      if (id === SETTINGS_CHECKER) return settingsChecker
      return id.startsWith(COMPILED) && id.endsWith('.js')
        ? { code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') }
        : null
    },
  }
  const entries = Object.entries(PACKAGES)
  const input = {
    cli: join(COMPILED, 'cli.js'),
    ...Object.fromEntries(entries.map(([name, sources]) => [name, join(sources, `${entryOf(name)}.ts`)])),
  }
  const fileName = ({ moduleIds, facadeModuleId, isEntry }) => {
    const ids = [...moduleIds, facadeModuleId ?? '']
    const [name] = entries.find(([, sources]) => ids.some((id) => id.startsWith(sources))) ?? []
    if (name !== undefined) return `${name}/${isEntry ? entryOf(name).split('/')[0] : '[name]'}.js`
    // The check of settings needs parts of Ajv too.
    const isLibrary = ids.some((id) => id.includes(MODULES) && !id.includes('/ajv/dist/runtime/'))
    return isLibrary ? 'mcp/[name].js' : 'program/[name].js'
  }
  const bundle = await rolldown({ input, platform: 'node', plugins: [files] })
  const { output } = await bundle.write({
    dir: BUILT,
    format: 'esm',
    comments: false,
    sourcemap: true,
    entryFileNames: fileName,
    chunkFileNames: fileName,
  })
  await bundle.close()
  writeBundled(join(BUILT, 'mcp'), output)
  const cli = join(BUILT, 'cli.js')
  writeFileSync(cli, LAUNCHER)
  chmodSync(cli, 0o755)
}
