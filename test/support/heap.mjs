/**
 * Loaded into a measured edge with `--import`: on SIGUSR2 it collects all garbage and writes the memory in use as JSON
 * to the file that its URL names (`heap.mjs?file=…`).
 */
import { renameSync, writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const file = new URL(import.meta.url).searchParams.get('file')
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')

process.on('SIGUSR2', () => {
  for (let turn = 0; turn < 3; turn++) collect()
  writeFileSync(`${file}.new`, JSON.stringify(process.memoryUsage()))
  // The reader never sees half of it.
  renameSync(`${file}.new`, file)
})
