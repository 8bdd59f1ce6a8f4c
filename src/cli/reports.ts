import { openApiDocument } from '../admin/openapi/document.ts'
import { routesTable } from '../admin/routes-table.ts'
import { verifyAudit } from '../audit/verify.ts'
import { catalogue } from '../catalogue/index.ts'
import { exitCodes } from '../server/exit.ts'
import { CommandError, print } from './terminal.ts'

/** `manager-edge routes` and `manager-edge openapi`: the catalogue, written out. */

export function writeRoutes(): void {
  process.stdout.write(routesTable(catalogue))
}

export function writeOpenApi(version: string, { server }: { server?: string }): void {
  const document = openApiDocument(catalogue, { version, ...(server !== undefined && { server }) })
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}

/** `manager-edge audit verify`: prints what is wrong, line by line, and ends with 1 where anything is. */
export async function verify(files: readonly string[], options: { last?: string }): Promise<void> {
  const { faults, notes, records, last } = await verifyAudit(files, options)
  for (const note of notes) print(`note: ${note}`)
  for (const fault of faults) print(`WRONG: ${fault}`)
  if (last !== undefined) print(`${records} records, the last is ${last.seq} with digest ${last.digest}`)
  if (records === 0) throw new CommandError('these files hold no audit', exitCodes.failed)
  if (faults.length > 0) throw new CommandError(`${faults.length} faults`, exitCodes.failed)
  print('ok')
}
