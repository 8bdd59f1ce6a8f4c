/** What is around the rows of a page. */
import { concatOwn } from '../core/long-values.ts'

/** The text of a page around its rows and its total. */
export interface PageFrame {
  readonly before: string
  readonly between: string
  readonly beforeTotal: string
  readonly after: string
}

/** As the edge writes it; `others` are further members of `data`. */
export function frameOf(others: Readonly<Record<string, unknown>> = {}): PageFrame {
  const names = JSON.stringify(others).slice(1)
  return {
    before: '{"error":0,"data":{"items":[',
    between: ',',
    beforeTotal: '],"totalItems":',
    after: `${names === '}' ? names : `,${names}`}}`,
  }
}

/** Returns the body of a collection response. The chunks have the text between rows already. */
export async function createCollectionBody(
  { chunks, total }: { readonly chunks: readonly Buffer[]; readonly total: number },
  { before, beforeTotal, after }: PageFrame = frameOf(),
): Promise<Buffer> {
  // Not of the pool: the store copies views of a larger buffer, and the compressed forms of a body belong to its buffer.
  return concatOwn([Buffer.from(before), ...chunks, Buffer.from(beforeTotal + total + after)])
}
