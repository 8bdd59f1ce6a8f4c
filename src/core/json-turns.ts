import { waitForTurn } from './turns.ts'

/** Parsing this much takes about a millisecond. */
const BYTES_PER_MS = 64 * 1024

/** To be awaited before JSON text of this length is parsed or printed; see `waitForTurn`. */
export function waitForJsonTurn(bytes: number): Promise<void> | undefined {
  return waitForTurn(bytes / BYTES_PER_MS)
}
