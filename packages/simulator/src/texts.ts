/** The error messages of the framework, word for word as in a real manager. */
import v3 from '../../../src/contracts/v3/texts.json' with { type: 'json' }
import type { CodeOf } from '../../../src/core/errors.ts'
import { FrameworkError } from './model.ts'

const written = {
  ...v3.texts,
  1000: 'Wazuh Internal Error',
  1017: 'Some Wazuh daemons are not ready yet in node',
  1717: 'Cannot upgrade to a version higher than the manager',
  1732: 'No agents selected',
  1736: 'Error getting all groups',
  1737: 'Maximum number of groups per multigroup is 256',
  1746: 'Could not parse current client.keys file',
  1749: 'Downgrading an agent requires the force flag. Use -F to force the downgrade',
  3012: 'Cluster is not running',
} as const

export type FrameworkCode = CodeOf<keyof typeof written>
export const texts: Readonly<Record<FrameworkCode, string>> = written

/** Returns an error of the framework; `extra` follows after a colon. */
export function refusal(code: FrameworkCode, extra?: string): FrameworkError {
  return new FrameworkError(code, extra === undefined ? texts[code] : `${texts[code]}: ${extra}`)
}
