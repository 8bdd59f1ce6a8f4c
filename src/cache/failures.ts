/** Fills that failed a moment ago: for that moment nobody tries again on behalf of what is kept, and nobody waits. */
export interface Failures {
  note(key: string): void
  /** Did a fill of the key fail within the last moment? */
  lately(key: string): boolean
}

const MOMENT = 1000
/** Beyond that, all are forgotten: the next request finds out again. */
const NOTED = 10_000

export function failures(clock: () => number): Failures {
  const until = new Map<string, number>()
  return {
    note: (key) => {
      if (until.size >= NOTED) until.clear()
      until.set(key, clock() + MOMENT)
    },
    lately: (key) => {
      const end = until.get(key)
      if (end === undefined) return false
      if (clock() < end) return true
      until.delete(key)
      return false
    },
  }
}
