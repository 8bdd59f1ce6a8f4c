// Writes the reference into dist/reference: node build.mjs [FOLDER IN PLACE OF dist]
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
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
const { writeReference } = await import(pathToFileURL(program).href)
rmSync(program)
await writeReference(folder, JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')).version)
writeBundled(folder, [{ moduleIds: [createRequire(import.meta.url).resolve('@fastify/swagger-ui')] }])
