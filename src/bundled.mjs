// What a bundle contains of other packages: their licences, which must accompany them, and their places in package-lock.json,
// which the bill of materials reads (packaging/sbom.mjs).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/**
 * Writes `LICENSES.txt` and `bundled.json` to a folder.
 * @param {string} folder
 * @param {readonly { moduleIds?: string[] }[]} output The files of the bundle, as Rolldown and Vite return them.
 */
export function writeBundled(folder, output) {
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds)
  const found = modules.flatMap(
    (id) => /^[^?]*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0].replace('\0', '') ?? [],
  )
  const packages = [...new Set(found)].sort()
  const texts = packages.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
    const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each))
    return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(join(path, file), 'utf8')}`
  })
  writeFileSync(join(folder, 'LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n`))
  const paths = packages.map((path) => relative('.', path))
  writeFileSync(join(folder, 'bundled.json'), `${JSON.stringify(paths)}\n`)
}
