/** The files that the settings name: the password is read, the others must at least be readable. */
import { access, constants } from 'node:fs/promises'
import type { Settings } from '../config.ts'
import { secretFrom } from './environment.ts'
import { codeOf } from './file.ts'
import { type Report, weakness } from './rules.ts'
import { getIn, type Path } from './tree.ts'

const named: readonly Path[] = [
  ['listen', 'tls', 'cert'],
  ['listen', 'tls', 'key'],
  ['cluster', 'tls', 'ca'],
  ['cluster', 'tls', 'cert'],
  ['cluster', 'tls', 'key'],
  ['access', 'users'],
  ['access', 'tokens', 'keys'],
]

/** Reports every named file that this process cannot read. */
export async function checkFiles(settings: Settings, report: Report): Promise<void> {
  for (const path of named) {
    const file = getIn(settings, path)
    if (typeof file !== 'string') continue
    try {
      await access(file, constants.R_OK)
    } catch (cause) {
      report(path, `${file} cannot be read (${codeOf(cause)}); make it, or let the user of this process read it`)
    }
  }
}

/** The settings with the password in its place, which is reported when it is one that everybody knows. */
export async function withPassword(settings: Settings, report: Report): Promise<Settings> {
  const { credentials } = settings.cluster
  const { username, passwordFile } = credentials
  const field = passwordFile === undefined ? 'password' : 'passwordFile'
  const path = ['cluster', 'credentials', field]
  let { password } = credentials
  if (passwordFile !== undefined) {
    const read = await secretFrom(passwordFile)
    if (!read.ok) {
      report(path, `${passwordFile} cannot be read (${read.code}); make it, or let the user of this process read it`)
      return settings
    }
    password = read.text
  }
  if (username === undefined || password === undefined) return settings
  const fault = weakness(username, password)
  if (fault) report(path, fault)
  return { ...settings, cluster: { ...settings.cluster, credentials: { ...credentials, password } } }
}
