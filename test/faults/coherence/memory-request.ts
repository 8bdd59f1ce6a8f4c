/** The message to a child process that reports its memory (memory-use.ts), and its answer. */

/** Bytes. */
export interface MemoryUse {
  readonly rss: number
  /** After a collection: objects, and their bytes outside the heap. */
  readonly held: number
}

export const MEMORY_REQUEST = 'memory'
