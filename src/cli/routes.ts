/** `manager-edge routes` and `manager-edge openapi`: the catalogue, written out. */

import { openApiDocument } from '../admin/openapi.ts'
import { routesTable } from '../admin/routes-table.ts'
import { catalogue } from '../catalogue/index.ts'

export function writeRoutes(): void {
  process.stdout.write(routesTable(catalogue))
}

export function writeOpenApi(version: string, { server }: { server?: string }): void {
  const document = openApiDocument(catalogue, { version, ...(server !== undefined && { server }) })
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}
