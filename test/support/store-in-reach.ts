/** A store that becomes unreachable, as that in front of Redis does. */
import { createMemoryStore } from '../../src/cache/stores/memory-store.ts'

/** `elapsed`: the clock, in monotonic milliseconds. Once `cut` is called, only what is local is found. */
export function storeInReach(elapsed: () => number) {
  const memory = createMemoryStore({ bytes: () => 1 << 20, elapsed })
  let isReachable = true
  type At = Parameters<typeof memory.lookup>
  const store = {
    ...memory,
    lookup: (...at: At) => (isReachable ? memory.lookup(...at) : ({ kind: 'unavailable' } as const)),
    lookupLocal: (...at: At) => (isReachable ? memory.lookupLocal(...at) : undefined),
    lookupWithoutRedis: (...at: At) => memory.lookup(...at),
  }
  const setReachable = (value: boolean): void => {
    isReachable = value
  }
  return { store, memory, cut: () => setReachable(false), restore: () => setReachable(true) }
}
