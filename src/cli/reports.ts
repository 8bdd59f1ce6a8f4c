/** Commands that only print: `routes`, `openapi` and `audit verify`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtFolder } from '../app/process.ts'
import { verifyAudit } from '../audit/verify.ts'
import type { Contract, Endpoint } from '../catalogue/endpoint.ts'
import { bothContracts } from '../catalogue/index.ts'
import { nameOf } from '../core/request.ts'
import { type Column, formatTable } from './output.ts'
import { CommandError, print } from './terminal.ts'

const documents = { classic: 'openapi.json', newer: 'openapi-newer.json' }

export function printRoutes({ contract }: { contract: Contract }): void {
  process.stdout.write(routesTable(recordsOf(contract)))
}

export async function printOpenApi({ server, contract }: { server?: string; contract: Contract }): Promise<void> {
  const folder = builtFolder('reference')
  if (folder === undefined) throw new CommandError('the reference is not included in this installation')
  const document = JSON.parse(await readFile(join(folder, documents[contract]), 'utf8'))
  if (server !== undefined) document.servers = [{ url: server }]
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}

function recordsOf(contract: Contract): readonly Endpoint[] {
  return bothContracts.filter((record) => record.contract === contract)
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

const columns: readonly Column<Endpoint>[] = [
  { title: 'METHOD', cell: ({ method }) => method },
  { title: 'PATH', cell: nameOf },
  { title: 'PERMISSION', cell: ({ permission }) => permission },
  { title: 'TARGET', cell: ({ target }) => target.kind },
  {
    title: 'CACHE',
    cell: (endpoint) => ('cache' in endpoint && 'group' in endpoint.cache ? endpoint.cache.group : '-'),
  },
  { title: 'SECRET', cell: ({ secret }) => (secret === 'none' ? '-' : secret) },
]

/** Returns records as an aligned table: a line of column titles, then one line per endpoint. Ends with a line feed. */
export function routesTable(catalogue: readonly Endpoint[]): string {
  return formatTable(columns, catalogue)
}
