import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'

/** Longer than the longest text of Node.js. */
const BYTES = 700 * 1024 * 1024

t.test('a file of any size is refused after its first mebibyte', async (t) => {
  const file = join(t.testdir(), 'edge.yaml')
  await writeFile(file, '')
  // Without data on the disk: zeros.
  await truncate(file, BYTES)
  const loaded = await loadConfig({ file, env: {} })
  t.match(loaded, { ok: false, faults: ['edge.yaml: is larger than 1 MiB; name a configuration file'] })
})
