/** The operation ids of the API, one line for each: generated clients call functions with these names. */
import { openApiDocument } from '../../../packages/reference/src/document.ts'
import { catalogue } from '../../../src/contracts/index.ts'

export const OPERATION_IDS = 'packages/reference/test/operation-ids.txt'

/** Returns `METHOD /path operationId` of each operation, sorted. */
export function operationIds(): readonly string[] {
  const { paths } = openApiDocument(catalogue, { version: '1' }) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>
  }
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
  )
  return all.sort()
}

/** Adds the operations that `pinned` does not have. Pinned ones stay as they are, so a changed id is still found. */
export function withNewOperations(pinned: readonly string[], found = operationIds()): readonly string[] {
  const known = new Set(pinned.map(operationOf))
  return [...pinned, ...found.filter((line) => !known.has(operationOf(line)))].sort()
}

const operationOf = (line: string): string => line.slice(0, line.lastIndexOf(' '))
