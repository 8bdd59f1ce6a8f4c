// Writes the reference into dist/reference, and config/edge.schema.json: node build.mjs [FOLDER IN PLACE OF dist]
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { writeBundled } from '../../src/bundled.mjs'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const [built = 'dist'] = process.argv.slice(2)
const folder = join(repository, built, 'reference')
/** The sources as one file. It lies in the repository, so it finds the libraries. */
const program = join(folder, 'write.js')

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const bundle = await rolldown({
  input: fileURLToPath(new URL('src/write.ts', import.meta.url)),
  platform: 'node',
  external: /^[^./]/,
})
await bundle.write({ file: program, format: 'esm' })
await bundle.close()
const { settingsSchema, writeReference } = await import(pathToFileURL(program).href)
rmSync(program)
const read = (name) => readFileSync(join(repository, name), 'utf8')
await writeReference(folder, JSON.parse(read('package.json')).version)
writeFileSync(join(repository, 'config/edge.schema.json'), settingsSchema(read('config/default.yaml')))
writeBundled(folder, [{ moduleIds: [createRequire(import.meta.url).resolve('@fastify/swagger-ui')] }])
