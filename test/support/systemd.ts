/** The systemd template as systemd reads it for one instance. */
import { existsSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'

export const TEMPLATE = 'config/systemd/manager-edge@.service'

/** Returns the environment of an instance. `folder` has the place of the folder of the configuration, which may have its file. */
export function environmentOfInstance(instance: string, folder: string): Record<string, string> {
  const unit = readFileSync(TEMPLATE, 'utf8').replaceAll('%i', instance).replaceAll('%H', hostname())
  const [, own = ''] = /^Environment=(.*)$/m.exec(unit) ?? []
  const [, path = ''] = /^EnvironmentFile=-(.*)$/m.exec(unit) ?? []
  const file = join(folder, basename(path))
  const more = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
  return Object.fromEntries([...own.split(' '), ...more].map((line) => line.split('=', 2)))
}
