/**
 * Distributes parsing and printing over turns of the event loop. Each piece takes a few milliseconds, but many nodes may
 * respond in one turn, and their sum would block the process.
 */

/** Parsing this much takes about a millisecond. The first piece of a turn may be longer. */
const MAX_BYTES_PER_TURN = 64 * 1024

interface Waiting {
  readonly bytes: number
  readonly resolve: () => void
}

const waiting: Waiting[] = []
let bytesInTurn = 0
let isScheduled = false

/**
 * To be awaited before JSON text of this length is parsed or printed. Returns undefined if the work fits into the current
 * turn, so that a response that comes alone is not delayed. Otherwise callers get later turns in the order of their calls.
 */
export function waitForJsonTurn(bytes: number): Promise<void> | undefined {
  if (waiting.length === 0 && fits(bytes)) {
    add(bytes)
    return undefined
  }
  return new Promise((resolve) => waiting.push({ bytes, resolve }))
}

function fits(bytes: number): boolean {
  return bytesInTurn === 0 || bytesInTurn + bytes <= MAX_BYTES_PER_TURN
}

function add(bytes: number): void {
  bytesInTurn += bytes
  if (isScheduled) return
  isScheduled = true
  setImmediate(beginTurn)
}

function beginTurn(): void {
  isScheduled = false
  bytesInTurn = 0
  for (let next = waiting[0]; next !== undefined && fits(next.bytes); next = waiting[0]) {
    waiting.shift()
    add(next.bytes)
    next.resolve()
  }
}
