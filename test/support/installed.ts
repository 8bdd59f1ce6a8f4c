/** Programs that tests need beside Node: named by a variable, found on the path, or freshly installed. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Needed {
  /** The variable that names it. */
  readonly variable: string
  /** What it may be called. */
  readonly names: readonly string[]
  /** Of Debian. */
  readonly package: string
}

/** Its path. Installs it where this process is root on Debian; else throws with instructions. */
export function installed({ variable, names, package: name }: Needed): string {
  const found = process.env[variable] ?? onPath(names)
  if (found !== undefined) return found
  install(name)
  const path = onPath(names)
  if (path !== undefined) return path
  throw new Error(
    `No ${names[0]} found. Install it (Debian: apt-get install ${name}) or name one by ${variable}=/path.`,
  )
}

function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path))
}

function install(name: string): void {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  // RUNLEVEL=1: no package starts a service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const lock = ['-o', 'DPkg::Lock::Timeout=300']
  try {
    execFileSync('apt-get', [...lock, 'update', '-qq'], { env, stdio: 'ignore' })
    execFileSync('apt-get', [...lock, 'install', '-y', '-qq', '--no-install-recommends', name], {
      env,
      stdio: 'ignore',
    })
  } catch {
    // Whoever looks for it next says what to do.
  }
}
