/**
 * `wazuh-app-version`: a client that names its version wants a manager of the same major and minor one
 * (contract, errors.yaml 801 and 802). Answered here, from the version that the nodes report.
 */
import { EdgeError } from '../core/errors.ts'

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/** `managerVersion` as discovery gave it (`3.11.5`, `Wazuh v3.11.5`); while none is known, nothing is refused but nonsense. */
export function checkAppVersion(header: string | string[] | undefined, managerVersion: string | undefined): void {
  if (header === undefined) return
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = managerVersion === undefined ? null : VERSION.exec(managerVersion.split(' ').at(-1) ?? '')
  if (manager !== null && (app[1] !== manager[1] || app[2] !== manager[2])) throw new EdgeError(802)
}
