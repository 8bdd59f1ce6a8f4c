// The dependencies that a package contains: those of package-lock.json without the ones for development.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages

/**
 * Returns the entries of package-lock.json by the path of their folder. Packages of this repository are left out, and optional
 * packages for another platform, which are not installed. Exits if another version is installed: no network is used.
 */
export function installedDependencies() {
  const paths = Object.keys(lock).filter((path) => {
    const { dev, link, optional } = lock[path]
    if (!path.startsWith('node_modules/') || link || dev) return false
    return !optional || existsSync(join(path, 'package.json'))
  })
  return entriesOf(paths)
}

/** Returns the entries of package-lock.json of these folders. Exits if another version is installed. */
export function entriesOf(paths) {
  const faults = paths.flatMap((path) => {
    const manifest = join(path, 'package.json')
    const found = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : 'none'
    const { version } = lock[path]
    return found === version ? [] : [`${path}: ${found} is installed, package-lock.json has ${version}`]
  })
  if (faults.length > 0) {
    console.error([...faults, 'run "npm ci" first'].join('\n'))
    process.exit(1)
  }
  return Object.fromEntries(paths.map((path) => [path, lock[path]]))
}
