import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Creates a folder that only its owner may write, until the end of the test. The folders above `t.testdir` depend on the checkout. */
export async function pluginFolder(t: Pick<Test, 'teardown'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-plugins-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return folder
}
