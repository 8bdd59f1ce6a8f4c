import t from 'tap'
import { v4Cluster } from './cluster.ts'

t.test('a client of a v3 release may name its version in front of a v4 cluster', async (t) => {
  const { send } = await v4Cluster(t, { workers: 0, agents: 3 })
  const ask = async (version: string) => (await send('/agents', { headers: { 'wazuh-app-version': version } })).error
  t.equal(await ask('3.11.4'), 0)
  t.equal(await ask('4.5.4'), 0)
  t.equal(await ask('3.11'), 801, 'a malformed version is refused')
})
