import t from 'tap'
import { loadConfig } from '../../../src/config/index.ts'
import { createReloadableConfig } from '../../../src/config/reloadable.ts'
import type { Config } from '../../../src/config/schema.ts'

const required = {
  EDGE_CLUSTER_NODES: '[{ name: master, type: master, url: "http://127.0.0.1:1" }]',
  EDGE_CLUSTER_CREDENTIALS_USERNAME: 'edge',
  EDGE_CLUSTER_CREDENTIALS_PASSWORD: 'only-for-tests',
  EDGE_ACCESS_USERS: '/dev/null',
}

async function load(env: Readonly<Record<string, string>> = {}): Promise<Config> {
  const loaded = await loadConfig({ env: { ...required, ...env } })
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return loaded.config
}

/** Returns the paths of all groups, lists and tables that can be changed. */
function listChangeable(value: unknown, path = 'config'): string[] {
  if (typeof value !== 'object' || value === null) return []
  const members = Object.entries(value).flatMap(([key, member]) => listChangeable(member, `${path}.${key}`))
  return Object.isFrozen(value) ? members : [path, ...members]
}

t.test('every configuration in use is frozen, and a reload replaces it as a whole', async (t) => {
  const reloadable = createReloadableConfig(structuredClone(await load()))
  const first = reloadable.current()
  const text = JSON.stringify(first)
  t.equal(first, reloadable.initial)
  t.strictSame(listChangeable(first), [])

  await reloadable.apply(structuredClone(await load({ EDGE_CACHE_TTL_AGENTS: '7s', EDGE_LISTEN_HOSTS: '[a.example]' })))
  const second = reloadable.current()
  t.strictSame(listChangeable(second), [])
  t.match(second, { cache: { ttl: { agents: 7000 } }, listen: { hosts: ['a.example'] } })
  t.equal(JSON.stringify(first), text, 'a request that has read the first one sees no change')
  t.equal(second.cluster.nodes, first.cluster.nodes, 'values that did not change are the same objects')
})
