import { Command } from 'commander'
import { catalogue } from '../catalogue/index.ts'
import { openApiDocument } from '../operations/openapi.ts'
import { routesTable } from '../operations/routes-table.ts'

/** `manager-edge routes`: every endpoint with its permission and where its answer lives. */
export function routesCommand(): Command {
  return new Command('routes').description('list every endpoint').action(() => {
    process.stdout.write(routesTable(catalogue))
  })
}

/** `manager-edge openapi`: the document that the operations listener serves too. */
export function openApiCommand(version: string): Command {
  return new Command('openapi')
    .description('write the OpenAPI document of the API (JSON)')
    .option('--server <url>', 'address of the edge, as clients write it')
    .action(({ server }: { server?: string }) => {
      const document = openApiDocument(catalogue, { version, ...(server !== undefined && { server }) })
      process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    })
}
