/** Which program this is, and the name of this process among the replicas. */
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/schema.ts'

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version and description in package.json. */
export const { version, description } = JSON.parse(text) as { readonly version: string; readonly description: string }

/** The commit that `npm run build` compiled; empty if it was not built in a repository. */
export const commit = readCommit()

function readCommit(): string {
  try {
    return readFileSync(new URL('../../dist/commit', import.meta.url), 'utf8').trim()
  } catch {
    return ''
  }
}

/** Returns the setting `replica.name`, or host name and process id: replicas on one machine have different names. */
export function replicaNameOf({ replica }: Pick<Config, 'replica'>): string {
  return replica.name ?? `${hostname()}-${process.pid}`
}

/**
 * Returns the folder of what the build adds to the program, such as the page of the console: next to this file, or in `dist` if
 * the sources run (tests). Undefined if this installation leaves it out.
 */
export function builtFolder(name: string): string | undefined {
  const folders = [`../${name}`, `../../dist/${name}`].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return folders.find((folder) => existsSync(folder))
}
