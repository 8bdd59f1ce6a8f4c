/** Builds all packages twice for their checks. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installed } from '../../../support/installed.ts'

export interface Built {
  readonly output: string
  readonly deb: string
  readonly rpm: string
  readonly layout: string
  readonly sbom: string
  /** What the command printed. */
  readonly printed: readonly string[]
}

export interface Packages {
  /** For further files. */
  readonly folder: string
  readonly first: Built
  /** From the same sources. */
  readonly second: Built
}

/** The release and the oldest Node.js of `package.json`. */
export const { version, engines } = JSON.parse(readFileSync('package.json', 'utf8'))

/** Without compression. */
const environment = { ...process.env, QUICK: '1' }

/** Returns what a program prints. Throws an error with its `stdout` and `stderr` if the program fails. */
export function run(file: string, ...args: string[]): string {
  return execFileSync(file, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 << 20,
    env: environment,
  })
}

/** Installs the programs that the builds and the checks run, or throws an error that names one. */
export function requirePrograms(): void {
  for (const [name, of = name] of [
    ['dpkg-deb', 'dpkg'],
    ['rpmbuild', 'rpm'],
    ['systemd-sysusers', 'systemd'],
  ] as const)
    installed({ variable: name.toUpperCase().replace('-', '_'), names: [name], package: of })
}

/** Builds both at the same time, which takes less time on several cores. */
export async function buildPackages(folder: string): Promise<Packages> {
  // Paths of users have spaces.
  const [first, second] = await Promise.all([build(join(folder, 'first build')), build(join(folder, 'second'))])
  return { folder, first, second }
}

async function build(output: string): Promise<Built> {
  mkdirSync(output)
  const { stdout } = await promisify(execFile)('packaging/build', [output], { env: environment })
  const printed = stdout.trim().split('\n')
  const [deb = '', rpm = '', layout = '', sbom = ''] = printed
  return { output, deb, rpm, layout, sbom, printed }
}
