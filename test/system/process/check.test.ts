import t from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { account, configFolder } from './config.ts'
import { result } from './program.ts'

t.test('check finds keys that are missing, and nodes and a Redis that cannot be used', async (t) => {
  const { file, createKey, write } = await configFolder(t)
  const missing = await result(t, ['check', '--config', file])
  t.equal(missing.code, 2)
  t.match(missing.err, 'access.tokens.keys')
  await createKey()

  const good = await result(t, ['check', '--config', file, '--connect'])
  t.equal(good.code, 0, good.err)
  t.match(
    good.out,
    /master: ok \(status 200\), v3 layout, version 3\.\d+\.\d+\nworker-1: ok \(status 200\), v3 layout.*\nok\n$/,
  )
  t.notMatch(good.out + good.err, account.password, 'no secret')

  write({ credentials: { ...account, password: 'another one' } })
  const refused = await result(t, ['check', '--config', file, '--connect'])
  t.equal(refused.code, 1)
  t.match(refused.out, 'master: failed: refusedCredentials, status 401; correct cluster.credentials')
  t.match(refused.err, '2 of 2 nodes cannot be used')

  write({}, { cache: { redis: { url: `redis://127.0.0.1:${await freePort()}` } } })
  const noRedis = await result(t, ['check', '--config', file, '--connect'])
  t.equal(noRedis.code, 1)
  t.match(noRedis.out, /worker-1: ok \(status 200\).*\nredis: failed: .*ECONNREFUSED/)
  t.match(noRedis.err, /^Redis cannot be used; the lines above/)

  write({ credentials: { mode: 'passthrough' } }, { access: {} })
  const asCallers = await result(t, ['check', '--config', file, '--connect'])
  t.equal(asCallers.code, 0, asCallers.err)
  t.match(asCallers.out, /^distribution manager$/m, 'no account, so no discovery')
  t.match(asCallers.out, /worker-1: ok \(status 401, it requires credentials\), v3 layout\nok\n$/)
})
