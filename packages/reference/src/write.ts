/**
 * The reference of the public API: a document for programs and a page for people, for each contract. They change with the
 * version of the edge only, so the build writes them. `src/admin/reference.ts` serves the files.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../../../src/catalogue/index.ts'
import { newerContract } from '../../../src/catalogue/newer-contract/index.ts'
import { openApiDocument } from './document.ts'
import { newerOpenApiDocument } from './newer-document.ts'
import { writePages } from './pages.ts'

/** Writes to an empty folder. `version`: of the edge. */
export async function writeReference(folder: string, version: string): Promise<void> {
  const documents = {
    openapi: openApiDocument(catalogue, { version }),
    'openapi-newer': newerOpenApiDocument(newerContract, { version }),
  }
  for (const [name, document] of Object.entries(documents))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
  await writePages(folder, [
    { path: '/docs', name: 'Releases 3.x (classic contract)' },
    { path: '/docs-newer', name: 'Releases 4.x (newer contract)' },
  ])
}
