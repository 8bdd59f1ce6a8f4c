/** The memory that another process holds after a garbage collection, which it writes to a file (`heap.mjs`). */
import { readFile, rm } from 'node:fs/promises'
import { eventually } from './eventually.ts'

/** Bytes. */
export interface HeapUse {
  readonly rss: number
  readonly heapUsed: number
  readonly external: number
}

/** Returns the module that the process loads with `--import`. */
export function heapHook(file: string): string {
  return new URL(`./heap.mjs?file=${encodeURIComponent(file)}`, import.meta.url).href
}

export async function readHeap(pid: number, file: string): Promise<HeapUse> {
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  let text = ''
  await eventually(async () => {
    text = await readFile(file, 'utf8').catch(() => '')
    return text !== ''
  })
  return JSON.parse(text) as HeapUse
}
