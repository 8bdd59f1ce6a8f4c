/**
 * Stored responses about agents and groups are equal in front of both layouts, and no write leaves an old one behind: two
 * edges with a cache, in front of equal simulated clusters, get the same requests.
 */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const now = new Date('2026-11-22T10:00:00Z')
const cluster = { workers: 2, agents: 30, seed: 3, version: '4.5.4', now: () => now }

/** Why the response of the v4 layout is another one. docs/contract-decisions.md has these differences. */
const different: Readonly<Record<string, string>> = {
  'GET /agents/outdated?limit=3': 'the v3 layout cuts the page before it filters',
  'PUT /agents/999/restart': 'the node finds the owner of the agent itself',
  'PUT /active-response/000 {"command":"restart-ossec0"}': 'agent 000 gets no commands in the v4 layout',
}

/** Method, URL and body. */
const reads = [
  'GET /agents',
  'GET /agents?limit=5&offset=3',
  'GET /agents?select=id,name,os.name&sort=-os.name,name',
  'GET /agents?status=active',
  'GET /agents?status=neverconnected,disconnected',
  'GET /agents?status=all&limit=3',
  'GET /agents?status=foo',
  'GET /agents?q=status=active;id!=000',
  'GET /agents?q=os.name~ubuntu,os.name~debian&select=id,os.name',
  'GET /agents?q=lastKeepAlive>1d&select=id,lastKeepAlive',
  'GET /agents?q=foo=1',
  'GET /agents?sort=foo',
  'GET /agents?sort=-version&select=id,version',
  'GET /agents?sort=status',
  'GET /agents?search=web',
  'GET /agents?search=!web&select=name',
  'GET /agents?search=-01&select=name',
  'GET /agents?os.platform=ubuntu&select=id',
  'GET /agents?os.name=Ubuntu&select=id',
  'GET /agents?group=default&select=id,group',
  'GET /agents?older_than=1d&select=id',
  'GET /agents?version=v4.5.4&select=id,version',
  'GET /agents?limit=0',
  'GET /agents?limit=1001',
  'GET /agents?select=os',
  'GET /agents?select=internal_key',
  'GET /agents?sort=internal_key',
  'GET /agents?q=internal_key=1',
  'GET /agents/001',
  'GET /agents/1?select=id,name',
  'GET /agents/000',
  'GET /agents/999',
  'GET /agents/name/nope',
  'GET /agents/no_group',
  'GET /agents/no_group?status=disconnected',
  'GET /agents/outdated?limit=3',
  'GET /agents/summary',
  'GET /agents/summary/os',
  'GET /agents/summary/os?sort=-os.platform&limit=2',
  'GET /agents/summary/os?search=ubuntu',
  'GET /agents/summary/os?q=status=active',
  'GET /agents/stats/distinct?fields=os.platform',
  'GET /agents/stats/distinct?fields=node_name,version&limit=3',
  'GET /agents/stats/distinct?fields=group',
  'GET /agents/stats/distinct?fields=foo',
  'GET /agents/001/key',
  'GET /agents/000/key',
  'GET /agents/999/key',
  'GET /agents/001/group/is_sync',
  'GET /agents/000/group/is_sync',
  'GET /agents/999/group/is_sync',
  'GET /agents/groups',
  'GET /agents/groups?q=count>2',
  'GET /agents/groups?select=name',
  'GET /agents/groups?sort=-name&limit=2',
  'GET /agents/groups?hash=sha256',
  'GET /agents/groups?hash=foo',
  'GET /agents/groups?search=d',
  'GET /agents/groups/default',
  'GET /agents/groups/default?select=id&sort=-id',
  'GET /agents/groups/default?status=active&select=id',
  'GET /agents/groups/nope',
  'GET /agents/groups/default/files',
  'GET /agents/groups/default/files?sort=-filename&limit=3',
  'GET /agents/groups/nope/files',
  'GET /agents/groups/default/configuration',
  'GET /agents/groups/nope/configuration',
  'GET /agents/groups/default/files/agent.conf',
  'GET /agents/groups/default/files/agent.conf?format=xml',
  'GET /agents/groups/default/files/ar.conf',
  'GET /agents/groups/default/files/nope',
  'GET /summary/agents',
  'GET /version',
]
const writes = [
  'PUT /agents/groups/recg',
  'PUT /agents/groups/recg',
  'POST /agents {"name":"n1","ip":"10.1.2.3"}',
  'POST /agents {"name":"n1","ip":"10.1.2.4"}',
  'POST /agents {"name":"n2","ip":"10.1.2.3"}',
  'POST /agents {"name":"n3"}',
  'PUT /agents/q1',
  'POST /agents/insert {"name":"i1","ip":"10.1.2.9","id":"950","key":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"}',
  'POST /agents/insert {"name":"i2","ip":"10.1.2.10","id":"950","key":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"}',
  'POST /agents/insert {"name":"i2","ip":"10.1.2.10","id":"951","key":"short"}',
  'POST /agents/group/recg {"ids":["001","002","999"]}',
  'POST /agents/group/nope {"ids":["001"]}',
  'PUT /agents/001/group/dmz',
  'PUT /agents/001/group/dmz',
  'PUT /agents/001/group/dmz?force_single_group',
  'PUT /agents/001/group/nope',
  'PUT /agents/999/group/dmz',
  'PUT /agents/000/group/dmz',
  'DELETE /agents/001/group/recg',
  'DELETE /agents/001/group/dmz',
  'DELETE /agents/001/group/default',
  'DELETE /agents/999/group/dmz',
  'DELETE /agents/002/group',
  'DELETE /agents/000/group',
  'DELETE /agents/group/recg?ids=002,003,999',
  'PUT /agents/003/group/recg',
  'DELETE /agents/groups?ids=recg,nope',
  'DELETE /agents/groups/default',
  'DELETE /agents/groups/all',
  'DELETE /agents/groups/nope',
  'POST /agents/groups/dmz/configuration <agent_config><localfile><location>/x</location><log_format>syslog</log_format></localfile></agent_config>',
  'POST /agents/groups/nope/configuration <agent_config></agent_config>',
  'POST /agents/groups/dmz/configuration <agent_config><bad/></agent_config>',
  'POST /agents/groups/dmz/files/agent.conf <agent_config></agent_config>',
  'POST /agents/groups/dmz/files/other.conf <agent_config></agent_config>',
  'PUT /agents/001/restart',
  'PUT /agents/000/restart',
  'PUT /agents/999/restart',
  'POST /agents/restart {"ids":["001","999"]}',
  'POST /agents/restart {"ids":[]}',
  'PUT /agents/restart',
  'PUT /agents/groups/webserver/restart',
  'PUT /agents/groups/nope/restart',
  'PUT /active-response/001 {"command":"restart-ossec0"}',
  'PUT /active-response/001 {}',
  'PUT /active-response/999 {"command":"restart-ossec0"}',
  'PUT /active-response/000 {"command":"restart-ossec0"}',
  'PUT /agents/999/upgrade',
  'PUT /agents/000/upgrade',
  'PUT /agents/001/upgrade_custom',
  'DELETE /agents?ids=950,999&older_than=0s',
  'DELETE /agents?ids=001',
  'DELETE /agents?status=neverconnected&older_than=0s',
  'DELETE /agents?older_than=1d',
  'DELETE /agents/000',
  'DELETE /agents/999',
  'DELETE /agents/031',
]
/** What writes change. */
const afterWrites = [
  'GET /agents?select=id,name,group',
  'GET /agents/001',
  'GET /agents/groups',
  'GET /agents/groups/recg?select=id',
  'GET /agents/groups/dmz/files',
  'GET /summary/agents',
]

async function startBoth(t: Test) {
  const start = async (layout: 'v3' | 'v4') => {
    const simulator = await startSimulator({ ...cluster, layout })
    t.teardown(() => simulator.close())
    const access = { limits: { requestsPerSecond: 100_000 } }
    const settings = { cluster: { layout, discover: false, limits: { perMinute: 0 } }, access }
    const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
    t.teardown(() => edge.close())
    return async (line: string) => {
      const [method = '', path = '', body] = line.split(' ')
      const type = body?.startsWith('<') ? 'application/xml' : 'application/json'
      const response = await fetch(`${edge.url}${path}`, {
        method,
        headers: { authorization: edge.authorization('admin'), ...(body !== undefined && { 'content-type': type }) },
        ...(body !== undefined && { body }),
      })
      return { status: response.status, body: (await response.json()) as unknown }
    }
  }
  const [v3, v4] = await Promise.all([start('v3'), start('v4')])
  return async (t: Test, line: string) => {
    const [wanted, found] = await Promise.all([v3(line), v4(line)])
    const reason = different[line]
    if (reason === undefined) t.same(found, wanted, line)
    else t.notSame(found, wanted, `${line}: ${reason}`)
  }
}

t.test('reads of agents and groups, also from the cache', async (t) => {
  const compare = await startBoth(t)
  for (const line of [...reads, ...reads]) await compare(t, line)
})

t.test('writes, and reads after each of them', async (t) => {
  const compare = await startBoth(t)
  for (const line of writes) {
    await compare(t, line)
    for (const read of afterWrites) await compare(t, read)
  }
})
