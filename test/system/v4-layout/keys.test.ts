/**
 * A node of the v4 layout shows the keys of agents and of the cluster to every account that may read. The edge does not:
 * without `secrets:read` no endpoint returns one, and with it no response that has one is stored.
 */
import t, { type Test } from 'tap'
import { secretOf } from '../../../packages/simulator/src/agent-state.ts'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { simulated } from '../../support/simulated.ts'

const world = { layout: 'v4', workers: 1, agents: 5 } as const
const values: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'any',
  node_id: 'worker-1',
  node_name: 'worker-1',
  group_id: 'default',
  file_name: 'agent.conf',
  component: 'auth',
  configuration: 'auth',
  policy_id: 'none',
  rule_id: '1002',
  decoder_name: 'sshd',
  lookup: 'x',
}
/** Requests that name or contain keys, beside one for each endpoint. */
const QUERIES = [
  '/manager/configuration?section=cluster',
  '/cluster/master/configuration?section=cluster',
  '/manager/config/com/cluster',
  '/cluster/worker-1/config/com/cluster',
  '/manager/files?path=etc/ossec.conf',
  '/manager/files?path=etc/client.keys',
  '/agents?select=id,internal_key',
  '/agents/stats/distinct?fields=internal_key',
  '/agents?q=internal_key~a',
]

const paths = catalogue.flatMap(({ method, path, target }) =>
  method !== 'GET' || target.kind === 'edge'
    ? []
    : [path.replaceAll(/:([a-z_]+)/g, (_, name: string) => values[name] ?? name)],
)

async function start(t: Test) {
  const { simulator, edge } = await simulated(t, world, { settings: { cluster: { layout: 'v4', discover: false } } })
  const get = async (user: string, path: string) => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization(user) } })
    return {
      path,
      status: response.status,
      cache: response.headers.get('cache-status') ?? '',
      text: await response.text(),
    }
  }
  return { simulator, get }
}

/** Returns the keys that a text contains. */
function keysIn(text: string, { world: { agents, clusterKey } }: Simulator): string[] {
  const ofAgents = [...agents.values()].flatMap((agent) =>
    agent.id === '000' ? [] : [agent.key, secretOf(agent) ?? ''],
  )
  return [clusterKey, ...ofAgents].filter((key) => key.length > 20 && text.includes(key))
}

t.test('a reader gets no key from any endpoint', async (t) => {
  const { simulator, get } = await start(t)
  const answered: string[] = []
  for (const path of [...paths, ...QUERIES]) {
    const { status, text } = await get('reader', path)
    t.same(keysIn(text, simulator), [], path)
    if (status === 200) answered.push(path)
  }
  t.ok(answered.length > 80, `${answered.length} of ${paths.length} requests were answered with 200`)
})

t.test('what always contains a key is refused before a node is asked', async (t) => {
  const { simulator, get } = await start(t)
  const before = simulator.seen.length
  for (const path of [
    '/agents/001/key',
    '/cluster/config',
    '/agents?select=id,internal_key',
    '/agents?q=internal_key~a',
  ]) {
    t.match(await get('reader', path), { status: 403, text: /902/ }, path)
  }
  t.equal(simulator.seen.length, before)
})

t.test('with secrets:read the keys are served, and never from the cache', async (t) => {
  const { simulator, get } = await start(t)
  const found = new Set<string>()
  for (const path of ['/agents/001/key', '/cluster/config', ...QUERIES]) {
    for (const response of [await get('admin', path), await get('admin', path)]) {
      const keys = keysIn(response.text, simulator)
      for (const key of keys) found.add(key)
      if (keys.length > 0) t.notMatch(response.cache, /hit/, path)
    }
  }
  t.ok(found.has(simulator.world.clusterKey), 'the cluster key')
  t.ok(found.has(simulator.world.agents.get('001')?.key ?? ''), 'the key of an agent')
})
