/**
 * The reference of the public API: a document for programs and a page for people, for each contract. And the schema of the
 * settings. They change with the version of the edge only, so the build writes them. `packages/reference/server` serves the files
 * of the API.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { openApiDocument } from './document.ts'
import { writePages } from './pages.ts'
import { v4OpenApiDocument } from './v4-document.ts'

export { settingsSchema } from './settings-schema.ts'

/** Writes to an empty folder. `version`: of the edge. */
export async function writeReference(folder: string, version: string): Promise<void> {
  const documents = {
    openapi: openApiDocument(catalogue, { version }),
    'openapi-v4': v4OpenApiDocument(v4Contract, { version }),
  }
  for (const [name, document] of Object.entries(documents))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
  await writePages(folder, [
    { path: '/docs', name: 'Releases 3.x (v3 contract)' },
    { path: '/docs-v4', name: 'Releases 4.x (v4 contract)' },
  ])
}
