/** Commands that only print: `routes`, `openapi` and `audit verify`. */
import { openApiDocument } from '../admin/openapi/document.ts'
import { routesTable } from '../admin/routes-table.ts'
import { verifyAudit } from '../audit/verify.ts'
import { catalogue } from '../catalogue/index.ts'
import { CommandError, print } from './terminal.ts'

export function printRoutes(): void {
  process.stdout.write(routesTable(catalogue))
}

export function printOpenApi(version: string, { server }: { server?: string }): void {
  const document = openApiDocument(catalogue, { version, ...(server !== undefined && { server }) })
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}

/** Prints each fault in a line. The exit code is 1 if there is a fault. */
export async function printAuditFaults(files: readonly string[], options: { last?: string }): Promise<void> {
  const { faults, notes, records, last } = await verifyAudit(files, options)
  for (const note of notes) print(`note: ${note}`)
  for (const fault of faults) print(`WRONG: ${fault}`)
  if (last !== undefined) print(`${records} records, the last is ${last.seq} with digest ${last.digest}`)
  if (records === 0) throw new CommandError('these files contain no audit records')
  if (faults.length > 0) throw new CommandError(`${faults.length} faults`)
  print('ok')
}
