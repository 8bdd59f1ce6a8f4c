import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { startRedis } from '../src/commands/demo-replicas.ts'

t.test('a Redis that does not become ready is ended, and the demo reports it', async (t) => {
  const folder = t.testdir()
  const program = join(folder, 'redis-server')
  writeFileSync(program, `#!/bin/sh\necho starting\nexec sleep 1000\n`)
  chmodSync(program, 0o755)
  const { PATH = '' } = process.env
  process.env.PATH = [folder, PATH].join(delimiter)
  t.teardown(() => {
    process.env.PATH = PATH
  })
  await t.rejects(startRedis(folder, 50), { message: 'redis-server is not ready after 0.05 s' })
})
