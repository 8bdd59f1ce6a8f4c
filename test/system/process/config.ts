/** A configuration file with the user `alice` for commands that read one, in front of a simulated cluster. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { type SimulatorOptions, startSimulator } from '../../../packages/simulator/src/index.ts'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { putUser } from '../../../src/access/users-file.ts'

export const account = { username: 'edge', password: 'only-for-tests' }

export async function configFolder(t: Test, world: SimulatorOptions = {}) {
  const simulator = await startSimulator({ workers: 1, agents: 3, ...account, ...world })
  t.teardown(() => simulator.close())
  const folder = t.testdir({ subfolder: {} })
  const file = join(folder, 'edge.yaml')
  /** Replaces the file. `cluster` is merged into that group, `more` into the whole. */
  const write = (cluster: object = {}, more: object = {}) =>
    writeFileSync(
      file,
      stringify({
        listen: { port: 0 },
        operations: { port: 0 },
        cluster: {
          nodes: simulator.nodes.map(({ name, type, url }) => ({ name, type, url })),
          credentials: account,
          ...cluster,
        },
        access: { users: 'users', roles: { alice: ['reader'] }, tokens: { keys: 'keys' } },
        ...more,
      }),
    )
  write()
  await putUser(join(folder, 'users'), 'alice', 'pw-of-alice', 4)
  const keys = join(folder, 'keys')
  /** As the command `token key`, without its process. */
  const createKey = () => {
    mkdirSync(keys, { mode: 0o700 })
    return createKeyFile(keys)
  }
  return { simulator, folder, file, keys, createKey, write }
}
