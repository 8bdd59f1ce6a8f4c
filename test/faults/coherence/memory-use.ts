/**
 * Reports what a child process uses to its parent: its memory after a garbage collection, so that leaks show, and the longest turn
 * of its event loop.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { watchTurns } from '../../support/event-loop.ts'
import { MEMORY_REQUEST, type MemoryUse, TURNS_REQUEST } from './memory-request.ts'

/** Answers each request of the parent. Turns are watched from the first request on. */
export function reportMemory(): void {
  let longestTurn: (() => number) | undefined
  process.on('message', (message) => {
    if (message === MEMORY_REQUEST) process.send?.(memoryUse())
    if (message !== TURNS_REQUEST) return
    longestTurn ??= watchTurns()
    process.send?.(longestTurn())
  })
}

function memoryUse(): MemoryUse {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss, held: heapUsed + external }
}
