import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { simulated } from '../../support/simulated.ts'
import { ask, edgeMode } from './edge-mode.ts'

const values: Readonly<Record<string, string>> = {
  agent_name: 'nobody',
  group_id: 'nosuchgroup',
  policy_id: 'cis_debian',
  component: 'agent',
  configuration: 'client',
  file_name: 'agent.conf',
  filename: 'agent.conf',
}
const queries: Readonly<Record<string, string>> = {
  'PUT /agents/:agent_id/upgrade_custom': '?file_path=/var/ossec/x.wpk&installer=upgrade.sh',
  'DELETE /agents/group/:group_id': '?ids=999',
  'DELETE /agents/groups': '?ids=nosuchgroup',
}
const bodies: Readonly<Record<string, unknown>> = {
  'PUT /active-response/:agent_id': { command: '!restart.sh', custom: true },
  'POST /agents/group/:group_id': { ids: ['999'] },
}
/** Creates its object, so the object is not unknown. */
const creating = ['PUT /agents/:agent_name', 'PUT /agents/groups/:group_id']

/** Every endpoint with an agent or a group in its path, except uploads. */
const endpoints = catalogue.filter((endpoint) => {
  const isUpload = 'body' in endpoint && endpoint.body?.kind === 'upload'
  const id = `${endpoint.method} ${endpoint.path}`
  return /:(?:agent_id|agent_name|group_id)\b/.test(endpoint.path) && !isUpload && !creating.includes(id)
})

t.test('an agent or a group that does not exist gives the same response in both modes of distribution', async (t) => {
  const manager = await simulated(t, { workers: 2, agents: 40 })
  const own = await edgeMode(t)
  t.ok(endpoints.length > 40, `${endpoints.length} endpoints`)
  for (const { method, path } of endpoints) {
    const id = `${method} ${path}`
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => (name === 'agent_id' ? '999' : (values[name] ?? '')))
    const call = `${method} ${filled}${queries[id] ?? ''}`
    const [ofManager, ofEdge] = [await ask(manager.edge, call, bodies[id]), await own.ask(call, bodies[id])]
    t.strictSame(ofEdge.body, ofManager.body, call)
    t.equal(ofEdge.status, ofManager.status, `status of ${call}`)
    const again = await own.ask(call, bodies[id])
    t.equal(again.headers.get('age'), null, `the response of ${call} is not stored`)
  }
  for (const path of ['/sca/999', '/sca/999/checks/cis_debian', '/syscheck/999', '/ciscat/999/results']) {
    t.match((await own.ask(`GET ${path}`)).body, { error: 1701, message: 'Agent does not exist' }, path)
  }
})

t.test('the restart of a group without members is 1750 in both modes', async (t) => {
  const manager = await simulated(t, { workers: 2, agents: 40 })
  const own = await edgeMode(t)
  for (const edge of [manager.edge, own.edge]) {
    t.match((await ask(edge, 'PUT /agents/groups/empty')).body, { error: 0 })
    t.match((await ask(edge, 'PUT /agents/groups/empty/restart')).body, {
      error: 1750,
      message: 'Group does not exist or it is empty',
    })
  }
})
