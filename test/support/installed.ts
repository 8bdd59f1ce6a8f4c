/** Finds programs that tests need: named by a variable, on the path, or installed with apt-get. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export interface Needed {
  /** The environment variable that contains its path. */
  readonly variable: string
  /** Possible names of the program. */
  readonly names: readonly string[]
  /** The Debian package. */
  readonly package: string
}

/** Returns the path of the program. Installs it if the process is root on Debian, otherwise throws with instructions. */
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
  // With RUNLEVEL=1, no package starts a service.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const lock = ['-o', 'DPkg::Lock::Timeout=300']
  try {
    execFileSync('apt-get', [...lock, 'update', '-qq'], { env, stdio: 'ignore' })
    execFileSync('apt-get', [...lock, 'install', '-y', '-qq', '--no-install-recommends', name], {
      env,
      stdio: 'ignore',
    })
  } catch {
    // The caller looks for the program again and throws with instructions.
  }
}
