import t from 'tap'
import type { Problems } from '../../../src/status/problem-types.ts'
import { reloadable } from './edge.ts'

t.test('settings that need a restart are named once in the log, in the console and in the metrics', async (t) => {
  const { change, logged, operations } = await reloadable(t)
  const metric = async (name: string) =>
    Number(
      /(\S+)$/.exec((await operations('/metrics')).split('\n').find((line) => line.startsWith(`${name} `)) ?? '')?.[1],
    )
  t.equal(await metric('edge_config_pending_restart'), 0)
  const before = await metric('edge_config_reload_timestamp_seconds')
  t.ok(before > 1_700_000_000 && before <= Date.now() / 1000)

  await change({ 'cache.enabled': false, 'listen.port': 1, 'log.level': 'debug', plugins: [{ file: 'team.mjs' }] })
  await change({ 'cache.defaultTtl': '2s' })
  const warning = 'changed settings take effect after a restart only'
  t.match(logged(warning), [{ level: 'warn', settings: ['listen.port', 'cache.enabled', 'plugins'] }])
  t.equal(logged(warning).length, 1, 'the second reload does not report them again')
  t.match(
    logged('configuration reloaded').map(({ changed }) => changed),
    [['log.level'], ['cache.defaultTtl']],
  )
  t.equal(await metric('edge_config_pending_restart'), 3)
  t.equal(await metric('edge_config_reload_success'), 1)
  t.equal(await metric('edge_config_reloads_total{outcome="succeeded"}'), 2)
  t.ok((await metric('edge_config_reload_timestamp_seconds')) > before)
  const { problems } = JSON.parse(await operations('/api/problems')) as Problems
  const waiting = problems.find(({ kind }) => kind === 'pendingRestart')
  t.match(
    `${waiting?.summary}: ${waiting?.detail}`,
    /listen\.port, cache\.enabled, plugins/,
    'the console names the settings',
  )

  await change({ 'cache.enabled': true, 'listen.port': 0, plugins: [] })
  t.equal(await metric('edge_config_pending_restart'), 0, 'with the old values no restart is needed')
})

t.test('a broken file changes nothing, and is reported once until it is valid again', async (t) => {
  const { change, put, get, logged, operations } = await reloadable(t)
  const fault = 'configuration not reloaded, the last valid one stays in use'
  await change({ 'cache.defaultTtl': '3s', 'access.roles': { admin: ['no-such-role'] } })
  await change({ 'cache.defaultTtl': '4s' })
  t.match(logged(fault), [{ level: 'error', fault: /access\.roles\.admin\[0\]: there is no role "no-such-role"/ }])
  t.equal(logged(fault).length, 1, 'the same fault is not logged again')
  t.match(await (await get('/cache/config')).json(), { data: { defaultDuration: 750 } })
  t.match(await operations('/metrics'), /^edge_config_reload_success 0$/m)
  const { problems } = JSON.parse(await operations('/api/problems')) as Problems
  t.match(problems.find(({ kind }) => kind === 'configurationNotReloaded')?.detail, /no-such-role/)

  await put('cluster: [')
  t.equal(logged(fault).length, 2, 'another fault is logged')
  t.equal((await get('/agents?limit=1')).status, 200)

  await put('cache: { nearBytes: 2MiB }')
  t.match(logged(fault)[2]?.fault, /edge\.yaml:1:10 cache\.nearBytes: is gone; write cache\.localBytes/)
  t.equal(logged(fault).length, 3)
})

t.test('a part that cannot use its settings keeps all other settings from changing', async (t) => {
  const { change, get, logged } = await reloadable(t)
  await change({ 'cache.defaultTtl': '3s', 'cache.endpoints': { '/no/such/endpoint': '1s' } })
  t.match(logged('configuration not reloaded, the last valid one stays in use'), [{ fault: /\/no\/such\/endpoint/ }])
  t.match(await (await get('/cache/config')).json(), { data: { defaultDuration: 750 } })
  await change({ 'cache.endpoints': {} })
  t.match(await (await get('/cache/config')).json(), { data: { defaultDuration: 3000 } })
})
