import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { describeStartError } from '../../../src/server/exit.ts'
import { configFolder } from './config.ts'
import { result } from './program.ts'

const noTokens = { access: { users: 'users' } }

t.test('an invalid configuration prints every fault on standard error and exits with code 2', async (t) => {
  const { file, write } = await configFolder(t)
  write({}, { ...noTokens, listen: { prot: 1 }, cache: { nearBytes: '2MiB' }, log: { level: 'loud' } })
  const { code, out, err } = await result(t, ['start', '--config', file])
  t.equal(code, 2)
  t.equal(out, '')
  t.strictSame(err.trim().split('\n').length, 3)
  t.match(err, /edge\.yaml:\d+:\d+ listen\.prot: is not a setting; did you mean "port"\?/)
  t.match(err, /^edge\.yaml:\d+:\d+ cache\.nearBytes: is gone; write cache\.localBytes$/m)
  t.match(await result(t, ['check', '--config', file]), { code, out, err }, 'check prints the same')
})

t.test('a failed start prints one line with a remedy and exits with code 1', async (t) => {
  const { folder, file, write } = await configFolder(t)
  writeFileSync(join(folder, 'bad.crt'), 'no certificate')
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }
  const rows = {
    'port in use': [
      { listen: { port } },
      /listen\.port: 127\.0\.0\.1:\d+ is in use; .*\(EDGE_LISTEN_PORT, or demo --port\)/,
    ],
    'an invalid users file': [{ access: { users: 'bad.crt' } }, /users file \S+bad\.crt: line 1: no colon/],
  } as const
  for (const [name, [change, message]] of Object.entries(rows)) {
    write({}, { ...noTokens, ...change })
    const { code, out, err } = await result(t, ['start', '--config', file])
    t.equal(code, 1, `${name}: code`)
    t.match(err, /^manager-edge cannot start: [^\n]+\n$/, `${name}: one line: ${err}`)
    t.match(err, message, `${name}: the message`)
    t.notMatch(err + out, '    at ', `${name}: no stack`)
  }
})

t.test('each cause of a failed start has its own message', async (t) => {
  const config = { listen: { host: '0.0.0.0', port: 443 }, operations: { host: '127.0.0.1', port: 55_001 } }
  const rows = [
    [
      { code: 'EADDRINUSE', port: 55_001, address: '127.0.0.1' },
      'operations.port: 127.0.0.1:55001 is in use; stop the process that listens there, or choose another port (EDGE_OPERATIONS_PORT, or demo --operations-port)',
    ],
    [
      { code: 'EACCES', port: 443, address: '0.0.0.0' },
      'listen.port: 0.0.0.0:443 is not allowed for this user; choose a port above 1023',
    ],
    [
      { code: 'EADDRNOTAVAIL', port: 443, address: '192.0.2.1' },
      'listen.host: this machine has no address 192.0.2.1; choose an address of this machine (EDGE_LISTEN_HOST)',
    ],
    [new Error('two\n  lines'), 'two lines'],
    ['no error at all', 'no error at all'],
  ] as const
  for (const [fault, line] of rows) t.equal(describeStartError(fault, config), line)
})
