// Bundles the libraries that have many files, and makes the compiled files import the bundles. Node.js needs 0.2 s of CPU
// time to load the 373 files of typebox, and a tenth of that for its bundle (`npm run bench:start` measures the whole).
// The libraries stay dependencies: their licences are installed with them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { rolldown } from 'rolldown'

const LIBRARIES = [
  '@fastify/basic-auth',
  '@fastify/caching',
  '@fastify/jwt',
  '@fastify/rate-limit',
  '@fastify/swagger',
  '@prometheus-io/client',
  'ajv',
  'commander',
  'fastest-levenshtein',
  'fastify',
  'find-my-way',
  'ioredis',
  'lru-cache',
  'openid-client',
  'pino',
  'proper-lockfile',
  'typebox',
  'undici',
  'yaml',
]
const COMPILED = 'dist'
const BUNDLES = join(COMPILED, 'libraries')
/** The prefix of modules that have no file: each exports all that a library exports. */
const ENTRY = 'entry:'

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
  entryFileNames: '[name]/index.js',
  // What several libraries need, as one copy.
  chunkFileNames: 'shared/[name]-[hash].js',
})
await bundle.close()
for (const name of LIBRARIES) {
  writeFileSync(join(BUNDLES, name, 'package.json'), '{ "type": "module", "main": "index.js" }\n')
}
for (const file of readdirSync(COMPILED, { recursive: true, encoding: 'utf8' })) {
  if (file.endsWith('.js') && !join(COMPILED, file).startsWith(BUNDLES)) redirect(join(COMPILED, file))
}

/** Returns the source of a module. It names the exports one by one: `export *` has none if the library is CommonJS. */
async function exportsOf(name) {
  const names = Object.keys(await import(name)).filter((one) => one !== '__esModule' && one !== 'module.exports')
  return `export { ${names.join(', ')} } from '${name}'`
}

/** Replaces the names of bundled libraries in the imports of a compiled file. No line moves, so its source map stays true. */
function redirect(file) {
  const before = readFileSync(file, 'utf8')
  const bundles = relative(dirname(file), BUNDLES).replace(/^(?!\.)/, './')
  const after = before.replace(/(?<=\bfrom '|\bimport\(')[@\w./-]+(?=')/g, (name) =>
    LIBRARIES.includes(name) ? `${bundles}/${name}/index.js` : name,
  )
  if (after !== before) writeFileSync(file, after)
}
