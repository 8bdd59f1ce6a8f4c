// What goes wrong silently in package-lock.json: addresses of one machine's registry, and binaries of other
// platforms that could not be had when it was written, so that `npm ci` fails elsewhere.
import { readFileSync } from 'node:fs'

const text = readFileSync(process.argv[2] ?? 'package-lock.json', 'utf8')
const { packages } = JSON.parse(text)
const faults = []

if (text.includes('"resolved"')) faults.push('names registry addresses ("resolved"); .npmrc must omit them')
for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
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
