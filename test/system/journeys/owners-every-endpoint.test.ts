import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { edgeMode } from './edge-mode.ts'

const owners = { '000': 'master', '001': 'master', '002': 'worker-1', '003': 'worker-2', '020': 'master' } as const

const values: Readonly<Record<string, string>> = {
  policy_id: 'cis_debian',
  component: 'agent',
  configuration: 'client',
}

const queries: Readonly<Record<string, string>> = {
  'PUT /agents/:agent_id/upgrade_custom': '?file_path=/var/ossec/x.wpk&installer=upgrade.sh',
}

const bodies: Readonly<Record<string, unknown>> = {
  'PUT /active-response/:agent_id': { command: '!restart.sh', custom: true, arguments: ['a'] },
}

t.test('every endpoint of an agent calls the node that the agent reports to, and no other', async (t) => {
  const { ask, seen } = await edgeMode(t, { settings: { cache: { enabled: false } } })
  const records = catalogue.filter(({ target }) => target.kind === 'agentOwner')
  t.ok(records.length > 25, `${records.length} endpoints`)
  for (const { method, path } of records) {
    for (const [id, node] of Object.entries(owners)) {
      const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => (name === 'agent_id' ? id : (values[name] ?? '')))
      seen()
      const response = await ask(
        `${method} ${filled}${queries[`${method} ${path}`] ?? ''}`,
        bodies[`${method} ${path}`],
      )
      const calls = seen().map((call) => call.replace(/\?.*/, ''))
      t.strictSame(calls, [`${node} ${method} ${filled}`], `${method} ${path} of ${id}`)
      t.equal(response.status, 200, `${method} ${path} of ${id}: ${JSON.stringify(response.body).slice(0, 80)}`)
    }
  }
})
