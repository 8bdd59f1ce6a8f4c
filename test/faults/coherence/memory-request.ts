/** The messages to a child process that reports what it uses (memory-use.ts), and their answers. */

/** Bytes. */
export interface MemoryUse {
  readonly rss: number
  /** After a collection: objects, and their bytes outside the heap. */
  readonly held: number
}

export const MEMORY_REQUEST = 'memory'

/** The answer is a number: milliseconds of the longest turn of the event loop since the last such message. */
export const TURNS_REQUEST = 'turns'
