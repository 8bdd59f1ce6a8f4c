// Copies the dependencies that the program needs from node_modules to the folder of the argument. They are those of
// package-lock.json without the ones for development; the versions must be installed, because no network is used.
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [target] = process.argv.slice(2)
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
const faults = []

for (const [path, { version, dev, link, optional }] of Object.entries(packages)) {
  // The others are the packages of this repository.
  if (!path.startsWith('node_modules/') || link || dev) continue
  const manifest = join(path, 'package.json')
  // An optional package that is not installed is for another platform.
  if (!existsSync(manifest) && optional) continue
  const found = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : 'none'
  if (found !== version) faults.push(`${path}: ${found} is installed, package-lock.json has ${version}`)
  // Dependencies inside of a dependency are entries of their own.
  else cpSync(path, join(target, path), { recursive: true, filter: (file) => !file.slice(path.length).includes('/node_modules') })
}
if (faults.length > 0) {
  console.error([...faults, 'run "npm ci" first'].join('\n'))
  process.exit(1)
}
