import t from 'tap'
import { newerCluster } from './cluster.ts'

t.test('a client of a classic release may name its version in front of a newer cluster', async (t) => {
  const { send } = await newerCluster(t, { workers: 0, agents: 3 })
  const ask = async (version: string) => (await send('/agents', { headers: { 'wazuh-app-version': version } })).error
  t.equal(await ask('3.11.4'), 0)
  t.equal(await ask('4.5.4'), 0)
  t.equal(await ask('3.11'), 801, 'a malformed version is refused')
})
