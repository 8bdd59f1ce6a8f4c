// What goes wrong silently in package-lock.json: addresses of one machine's registry, binaries of other platforms that could
// not be had when it was written, so that `npm ci` fails elsewhere, and packages that make `npm ci` print a warning on a
// supported version of Node.
import { readFileSync } from 'node:fs'
import semver from 'semver'

/** The least supported release of each line. */
const SUPPORTED = ['20.20.0', '22.22.2', '24.14.1']

const { packages } = JSON.parse(readFileSync(process.argv[2] ?? 'package-lock.json', 'utf8'))
const faults = []

for (const [path, { resolved, link, optionalDependencies = {}, engines, deprecated }] of Object.entries(packages)) {
  // A package of the repository is a link to its folder.
  if (resolved && !(link && resolved.startsWith('packages/'))) faults.push(`${path} names a registry address ("resolved"); .npmrc must omit them`)
  for (const version of SUPPORTED) {
    if (!semver.satisfies(version, engines?.node ?? '*')) faults.push(`${path} needs Node ${engines.node}, not ${version}`)
  }
  if (deprecated) faults.push(`${path} is deprecated: ${deprecated}`)
  for (const name of Object.keys(optionalDependencies)) {
    if (!isLocked(path, name)) faults.push(`${path || 'the project'} lacks its optional package ${name}`)
  }
}

for (const fault of faults) console.error(`package-lock.json: ${fault}`)
if (faults.length > 0) process.exit(1)
console.log(`package-lock.json: ${Object.keys(packages).length} packages, complete`)

/** Looks as Node does: beside the package, then in each folder above it. */
function isLocked(path, name) {
  for (let here = path; ; here = here.slice(0, here.lastIndexOf('/node_modules/'))) {
    if (packages[`${here}${here ? '/' : ''}node_modules/${name}`]) return true
    if (!here.includes('/node_modules/')) return packages[`node_modules/${name}`] !== undefined
  }
}
