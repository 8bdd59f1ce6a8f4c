/** What this process holds, told to the one that forked it: what could not be collected is what leaks. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes. */
export interface MemoryUse {
  readonly rss: number
  /** After a collection: objects, and bytes outside the heap that they keep. */
  readonly held: number
}

export const ASK = 'memory'

/** Answers each `ASK` of the parent. */
export function tellMemory(): void {
  process.on('message', (message) => {
    if (message === ASK) process.send?.(memoryUse())
  })
}

function memoryUse(): MemoryUse {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, held: heapUsed + external }
}
