import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { createReloadableConfig } from '../../../src/config/reloadable.ts'
import { type Config, schema } from '../../../src/config/schema.ts'
import { getIn, listLeaves, type Path } from '../../../src/config/tree.ts'

/** A copy with this value. The value has no valid type: `apply` compares, and parts are not built here. */
function withValue<Tree>(tree: Tree, [key, ...rest]: Path, value: unknown): Tree {
  if (key === undefined) return value as Tree
  return { ...tree, [key]: withValue(getIn(tree, [key]), rest, value) }
}

t.test('each setting changes in the running configuration, or is reported to need a restart', async (t) => {
  const env = {
    EDGE_CLUSTER_NODES: '[{ name: master, type: master, url: "http://127.0.0.1:1" }]',
    EDGE_CLUSTER_CREDENTIALS_USERNAME: 'edge',
    EDGE_CLUSTER_CREDENTIALS_PASSWORD: 'only-for-tests',
    EDGE_ACCESS_USERS: '/dev/null',
  }
  const loaded = await loadConfig({ env })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  for (const { path, effect } of listLeaves(schema)) {
    const name = path.join('.')
    const reloadable = createReloadableConfig(loaded.config)
    const before = getIn(reloadable.current(), path)
    const isSet = Array.isArray(before) ? before.length > 0 : before !== undefined
    const applies = effect === 'reload' || (effect === 'reloadIfSet' && isSet)
    const result = await reloadable.apply(withValue(loaded.config, path, ['changed']))
    t.strictSame(getIn(reloadable.current(), path), applies ? ['changed'] : before, name)
    t.strictSame(result, { changed: applies ? [name] : [], pendingRestart: applies ? [] : [name] }, name)
    const reverted = await reloadable.apply(loaded.config)
    t.strictSame(reverted.pendingRestart, [], `${name} needs no restart once it has its old value again`)
    t.strictSame(reloadable.current(), loaded.config, `with ${name}, everything is as before`)
  }
})

t.test('a part that cannot use the configuration keeps every other part from changing', async (t) => {
  const config = { log: { level: 'info' } } as Config
  const reloadable = createReloadableConfig(config)
  const applied: string[] = []
  reloadable.onReload((next) => () => void applied.push(next.log.level))
  reloadable.onReload((next) => {
    if (next.log.level === 'trace') throw new Error('trace is too much')
    return () => void applied.push('second')
  })
  await t.rejects(reloadable.apply({ log: { level: 'trace' } } as Config), { message: 'trace is too much' })
  t.strictSame([reloadable.current().log.level, applied], ['info', []])
  await reloadable.apply({ log: { level: 'warn' } } as Config)
  t.strictSame([reloadable.current().log.level, applied], ['warn', ['warn', 'second']])
})
