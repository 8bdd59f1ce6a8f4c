/** Reports the memory of a child process to its parent, after a garbage collection, so that leaks show. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { MEMORY_REQUEST, type MemoryUse } from './memory-request.ts'

/** Answers each `MEMORY_REQUEST` of the parent. */
export function reportMemory(): void {
  process.on('message', (message) => {
    if (message === MEMORY_REQUEST) process.send?.(memoryUse())
  })
}

function memoryUse(): MemoryUse {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, held: heapUsed + external }
}
