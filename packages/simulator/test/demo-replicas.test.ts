import { chmodSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { portsOfReplicas, startRedis } from '../src/commands/demo-replicas.ts'

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

t.test('no listener of a demo gets the port of another one', async (t) => {
  t.strictSame(portsOfReplicas([55_000, 55_001, 55_002], 2), [
    [55_000, 55_001, 55_002],
    [55_010, 55_011, 55_012],
  ])
  const rows = portsOfReplicas([56_000, 56_010], 3)
  t.strictSame(rows[0], [56_000, 56_010], 'the first replica has the ports of the options')
  t.equal(new Set(rows.flat()).size, 6)
  t.strictSame(portsOfReplicas([55_001, 55_001], 1), [[55_001, 55_011]], 'an option has the default of another one')
  t.strictSame(portsOfReplicas([0, 0], 2), [
    [0, 0],
    [0, 0],
  ])
})
