import Fastify from 'fastify'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { routeUrl } from '../../../src/http/contract.ts'

/** Every record is a separate route. If two routes match a path, the literal one wins. */
const app = Fastify({ routerOptions: { caseSensitive: false, ignoreTrailingSlash: true } })
for (const record of catalogue) {
  const { method, path } = record
  app.route({ method, url: routeUrl(record), handler: async () => ({ route: `${method} ${path}` }) })
}

const wins: Readonly<Record<string, string>> = {
  'GET /agents/summary': 'GET /agents/summary',
  'GET /agents/no_group': 'GET /agents/no_group',
  'GET /AGENTS/1/': 'GET /agents/:agent_id',
  'PUT /agents/restart': 'PUT /agents/restart',
  'PUT /agents/web-1': 'PUT /agents/:agent_name',
  'PUT /agents/groups/restart': 'PUT /agents/groups/:group_id',
  'PUT /agents/groups/web/restart': 'PUT /agents/groups/:group_id/restart',
  'PUT /agents/001/restart': 'PUT /agents/:agent_id/restart',
  'PUT /agents/001/group/restart': 'PUT /agents/:agent_id/group/:group_id',
  'DELETE /agents/groups/group': 'DELETE /agents/groups/:group_id',
  'GET /cluster/configuration/validation': 'GET /cluster/configuration/validation',
  'GET /cluster/worker-1/configuration/validation': 'GET /cluster/:node_id/configuration/validation',
  'GET /cluster/*/info': 'GET /cluster/:node_ids/info',
  'GET /CLUSTER/%2A/Logs/': 'GET /cluster/:node_ids/logs',
  'GET /cluster/a,b/logs/summary': 'GET /cluster/:node_ids/logs/summary',
  'GET /cluster/a%2cb/config/com/internal': 'GET /cluster/:node_ids/config/:component/:configuration',
  'GET /cluster/a,,b/info': 'GET /cluster/:node_ids/info',
  'GET /cluster/a,/info': 'GET /cluster/:node_ids/info',
  'GET /cluster/,a/info': 'GET /cluster/:node_id/info',
  'GET /cluster/*,a/info': 'GET /cluster/:node_id/info',
  'GET /cluster/**/info': 'GET /cluster/:node_id/info',
  'PUT /cluster/a,b/restart': 'PUT /cluster/:node_id/restart',
  'DELETE /cluster/*/files': 'DELETE /cluster/:node_id/files',
  'GET /cluster/nodes/info': 'GET /cluster/nodes/:node_name',
  'GET /decoders/files': 'GET /decoders/files',
  'GET /rules/5710': 'GET /rules/:rule_id',
  'GET /rules/nist-800-53': 'GET /rules/nist-800-53',
  'GET /': 'GET /',
}

t.test('the literal route wins if two routes match', async (t) => {
  t.teardown(() => app.close())
  for (const [sent, route] of Object.entries(wins)) {
    const [method = '', url = ''] = sent.split(' ')
    const answer = await app.inject({ method: method as 'GET', url })
    t.equal((answer.json() as { route: string }).route, route, sent)
  }
})
