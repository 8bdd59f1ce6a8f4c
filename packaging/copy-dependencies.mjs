// Copies the dependencies that the program needs from node_modules to the folder of the argument.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { installedDependencies } from './dependencies.mjs'

const [target] = process.argv.slice(2)
for (const path of Object.keys(installedDependencies())) {
  // Dependencies inside of a dependency are entries of their own.
  const filter = (file) => !file.slice(path.length).includes('/node_modules')
  cpSync(path, join(target, path), { recursive: true, filter })
}
