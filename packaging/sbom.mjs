// Prints the bill of materials of the built program (CycloneDX 1.6): node packaging/sbom.mjs [FILE]
// Its components are the dependencies that a package contains, those that the build has bundled, and those of FILE (a
// list of components as JSON, such as the base of the image). The time is SOURCE_DATE_EPOCH.
import { readFileSync } from 'node:fs'
import { entriesOf, installedDependencies } from './dependencies.mjs'

const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const { BUILT = 'dist' } = process.env
/** Written by the build (src/bundled.mjs). */
const BUNDLED = ['console', 'mcp', 'reference'].map((name) => `${BUILT}/${name}/bundled.json`)

const [others] = process.argv.slice(2)
const manifest = read('package.json')
const bundled = entriesOf(BUNDLED.flatMap(read))
const installed = { ...installedDependencies(), ...bundled }

/** The component of each purl. The same version of a package may be in several folders. */
const components = new Map(others === undefined ? [] : read(others).map((each) => [each.purl, each]))
const dependencies = new Map()
for (const [path, entry] of Object.entries(installed)) {
  const { version, license, integrity } = entry
  const name = nameOf(path)
  const purl = purlOf(name, version)
  const [group, base] = name.startsWith('@') ? name.split('/') : [undefined, name]
  components.set(purl, {
    type: 'library',
    'bom-ref': purl,
    ...(group !== undefined && { group }),
    name: base,
    version,
    ...licensesOf(license),
    purl,
    // Of the package as it was published.
    ...(integrity !== undefined && {
      externalReferences: [{ type: 'distribution', url: purl, hashes: hashesOf(integrity) }],
    }),
  })
  const names = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
  const needed = names.flatMap((each) => resolve(path, each))
  dependencies.set(purl, new Set([...(dependencies.get(purl) ?? []), ...needed]))
}

const root = purlOf(manifest.name, manifest.version)
// The program itself needs a bundled package that no other package needs.
const direct = Object.keys(manifest.dependencies).flatMap((name) => resolve('', name))
const needed = new Set([...dependencies.values()].flatMap((refs) => [...refs]))
const ofBundles = Object.entries(bundled).map(([path, { version }]) => purlOf(nameOf(path), version))
dependencies.set(root, new Set([...direct, ...ofBundles.filter((purl) => !needed.has(purl))]))

const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString(),
    component: {
      type: 'application',
      'bom-ref': root,
      name: manifest.name,
      version: manifest.version,
      description: manifest.description,
      ...licensesOf(manifest.license),
      purl: root,
      properties: [{ name: 'manager-edge:commit', value: readFileSync(`${BUILT}/commit`, 'utf8').trim() }],
    },
  },
  components: [...components.values()].sort((a, b) => compare(a.purl, b.purl)),
  dependencies: [...dependencies]
    .map(([ref, refs]) => ({ ref, dependsOn: [...refs].sort(compare) }))
    .sort((a, b) => compare(a.ref, b.ref)),
}
console.log(JSON.stringify(bom, null, 2))

/** Not by the rules of a language, which depend on the machine. */
function compare(a, b) {
  return a < b ? -1 : Number(a > b)
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function purlOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** Returns the purl of a dependency of the package in `path`. Looks as Node.js does: in the package, then in each folder above. */
function resolve(path, name) {
  for (let here = path; ; here = here.slice(0, Math.max(0, here.lastIndexOf('/node_modules/')))) {
    const entry = installed[`${here}${here ? '/' : ''}node_modules/${name}`]
    if (entry !== undefined) return [purlOf(name, entry.version)]
    // An optional package of another platform, or one that the bundle does not contain.
    if (here === '') return []
  }
}

/** A name of SPDX, or an expression of several. */
function licensesOf(license) {
  if (license === undefined) return {}
  return { licenses: /^[\w.+-]+$/.test(license) ? [{ license: { id: license } }] : [{ expression: license }] }
}

function hashesOf(integrity) {
  const [algorithm, digest] = integrity.split('-')
  return [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }]
}
