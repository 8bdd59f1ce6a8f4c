/** Other versions of Node.js, for measurements and tests on all that are supported. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** Outside of the packages of this project: the lock file and the suite do not see it. */
const CACHE = 'node_modules/.cache/node'
const VERSION = /^\d+(?:\.\d+){0,2}$/

/** Returns the versions of a list such as `20,22.22.2,24`. `refuse` gets the message if one is no version. */
export function versionsOf(list: string, refuse: (message: string) => never): readonly string[] {
  const versions = list.split(',')
  const wrong = versions.find((version) => !VERSION.test(version))
  return wrong === undefined ? versions : refuse(`versions are numbers such as 20,22,24, got "${wrong}"`)
}

/** Returns the absolute path of the program of this version. If it is not the running one, npm installs it once as the package `node`. */
export function programOf(version: string): string {
  if (`${process.versions.node}.`.startsWith(`${version}.`)) return process.execPath
  const folder = join(process.cwd(), CACHE, version)
  const program = join(folder, 'node_modules/node/bin/node')
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true })
    execFileSync('npm', ['install', '--no-save', '--prefix', folder, `node@${version}`], { stdio: 'ignore' })
  }
  return program
}
