// Builds the console into dist/console, with a brotli and a gzip copy of each file: node build.mjs [FOLDER IN PLACE OF dist]
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { writeBundled } from '../../src/bundled.mjs'

const root = fileURLToPath(new URL('src/', import.meta.url))
const [built = 'dist'] = process.argv.slice(2)
const outDir = fileURLToPath(new URL(`../../${built}/console`, import.meta.url))

const { output } = await build({
  root,
  base: './',
  configFile: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // The content security policy of the page allows no inlined assets and no inlined polyfill.
  build: { outDir, emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, target: 'es2022' },
})
writeBundled(outDir, output)

for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
  if (!/\.(?:html|js|css|svg)$/.test(name)) continue
  const path = join(outDir, name)
  const bytes = readFileSync(path)
  writeFileSync(`${path}.br`, brotliCompressSync(bytes))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}
