/** Commands that print a contract: `routes` and `openapi`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtFolder } from '../../../../src/app/process.ts'
import { formatTable, type TextColumn } from '../../../../src/cli/output.ts'
import { CommandError } from '../../../../src/cli/terminal.ts'
import type { Contract, Endpoint } from '../../../../src/contracts/endpoint.ts'
import { bothContracts } from '../../../../src/contracts/index.ts'
import { nameOf } from '../../../../src/core/endpoint-names.ts'

const documents = { v3: 'openapi.json', v4: 'openapi-v4.json' }

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

const columns: readonly TextColumn<Endpoint>[] = [
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
