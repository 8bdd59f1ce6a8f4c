/** Writes, and reads of what they changed, in their order. */

export interface Write {
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string
}

type Upload = Required<Pick<Write, 'type' | 'body'>>

const json = (value: unknown): Upload => ({ type: 'application/json', body: JSON.stringify(value) })
const xml = (body: string): Upload => ({ type: 'application/xml', body })
const bytes = (body: string): Upload => ({ type: 'application/octet-stream', body })

function send(request: string, upload: Partial<Upload> = {}): Write {
  const [method = 'GET', path = '/'] = request.split(' ')
  return { method, path, ...upload }
}

const KEY = 'k'.repeat(64)
const RULE = `<group name="own,">
  <rule id="100900" level="5">
    <description>own</description>
  </rule>
</group>
`

export const writes: readonly Write[] = [
  send('PUT /agents/groups/lab'),
  send('PUT /agents/groups/lab'),
  send('PUT /agents/groups/web'),
  send('PUT /agents/groups/a%20b'),
  send(
    'POST /agents/groups/lab/configuration',
    xml('<agent_config><localfile><location>/x</location><log_format>syslog</log_format></localfile></agent_config>'),
  ),
  send('POST /agents/groups/lab/configuration', xml('<agent_config><bad/></agent_config>')),
  send('POST /agents/groups/lab/configuration', xml('<agent_config>')),
  send('POST /agents/groups/nope/configuration', xml('<agent_config></agent_config>')),
  send(
    'POST /agents/groups/lab/files/agent.conf',
    xml('<agent_config><labels><label key="a">b</label></labels></agent_config>'),
  ),
  send('POST /agents/groups/lab/files/other.conf', xml('<agent_config></agent_config>')),
  send('GET /agents/groups/lab/configuration'),
  send('POST /agents', json({ name: 'one', ip: '192.0.2.1' })),
  send('POST /agents', json({ name: 'one', ip: '192.0.2.2' })),
  send('POST /agents', json({ name: 'two', ip: '192.0.2.1' })),
  send('POST /agents', json({ name: 'any', ip: 'any' })),
  send('POST /agents', json({ name: 'one', ip: '192.0.2.1', force: 0 })),
  send('POST /agents', json({})),
  send('POST /agents', json({ name: 'x'.repeat(129) })),
  send('POST /agents', json({ name: 'without' })),
  send('PUT /agents/quick'),
  send('PUT /agents/quick'),
  send('POST /agents/insert', json({ name: 'ins', ip: 'any', id: '900', key: KEY })),
  send('POST /agents/insert', json({ name: 'ins2', ip: 'any', id: '900', key: KEY })),
  send('POST /agents/insert', json({ name: 'ins3' })),
  send('POST /agents/insert', json({ name: 'ins4', ip: '192.0.2.77', id: '901', key: 'short' })),
  send('PUT /agents/001/group/lab'),
  send('PUT /agents/001/group/lab'),
  send('PUT /agents/001/group/nope'),
  send('PUT /agents/999/group/lab'),
  send('PUT /agents/000/group/lab'),
  send('PUT /agents/002/group/lab?force_single_group'),
  send('POST /agents/group/lab', json({ ids: ['003', '004'] })),
  send('POST /agents/group/lab', json({ ids: ['003', '999'] })),
  send('POST /agents/group/nope', json({ ids: ['003'] })),
  send('GET /agents/groups/lab?select=id'),
  send('DELETE /agents/001/group/lab'),
  send('DELETE /agents/001/group/lab'),
  send('DELETE /agents/999/group/lab'),
  send('DELETE /agents/001/group/nope'),
  send('DELETE /agents/002/group/lab'),
  send('DELETE /agents/002/group/default'),
  send('DELETE /agents/group/lab?ids=003,999'),
  send('DELETE /agents/group/lab?ids=003'),
  send('DELETE /agents/004/group'),
  send('DELETE /agents/999/group'),
  send('DELETE /agents/groups/lab'),
  send('DELETE /agents/groups/lab'),
  send('DELETE /agents/groups/default'),
  send('DELETE /agents/groups?ids=desktop,nope'),
  send('PUT /agents/001/restart'),
  send('PUT /agents/000/restart'),
  send('PUT /agents/999/restart'),
  send('PUT /agents/020/restart'),
  send('POST /agents/restart', json({ ids: ['001', '020', '999'] })),
  send('POST /agents/restart', json({ ids: ['001', '002'] })),
  send('PUT /agents/restart'),
  send('PUT /agents/groups/web/restart'),
  send('PUT /syscheck/001'),
  send('PUT /syscheck/020'),
  send('PUT /syscheck/999'),
  send('PUT /syscheck'),
  send('PUT /rootcheck/001'),
  send('PUT /rootcheck/020'),
  send('PUT /rootcheck'),
  send('DELETE /rootcheck/001'),
  send('GET /rootcheck/001'),
  send('DELETE /rootcheck/999'),
  send('DELETE /syscheck/001'),
  send('GET /syscheck/001?limit=1'),
  send('DELETE /experimental/syscheck'),
  send('DELETE /rootcheck'),
  send('PUT /active-response/001', json({ command: 'firewall-drop600' })),
  send('PUT /active-response/001', json({ command: 'nope' })),
  send('PUT /active-response/020', json({ command: 'firewall-drop600' })),
  send('PUT /active-response/999', json({ command: 'firewall-drop600' })),
  send('PUT /active-response/001', json({})),
  send('PUT /agents/010/upgrade'),
  send('GET /agents/010/upgrade_result'),
  send('PUT /agents/020/upgrade'),
  send('PUT /agents/999/upgrade'),
  send('PUT /agents/001/upgrade?version=foo'),
  send('POST /manager/files?path=etc/rules/own.xml', xml(RULE)),
  send('POST /manager/files?path=etc/rules/own.xml', xml(RULE)),
  send('POST /manager/files?path=etc/rules/own.xml&overwrite=true', xml(RULE)),
  send('GET /manager/files?path=etc/rules/own.xml'),
  send('GET /rules/100900'),
  send('POST /manager/files?path=etc/lists/own', bytes('a:1\nb:2\n')),
  send('GET /manager/files?path=etc/lists/own'),
  send('POST /manager/files?path=etc/lists/bad', bytes('nocolon\nx\n')),
  send('POST /manager/files?path=etc/rules/bad.xml', xml('<group>')),
  send('DELETE /manager/files?path=etc/rules/own.xml'),
  send('DELETE /manager/files?path=etc/rules/own.xml'),
  send('DELETE /manager/files?path=etc/lists/own'),
  send('DELETE /agents/045'),
  send('DELETE /agents/045'),
  send('DELETE /agents/000'),
  send('DELETE /agents?ids=044,999&older_than=0s'),
  send('DELETE /agents?ids=001'),
  send('DELETE /agents?status=neverconnected&older_than=0s'),
  send('PUT /manager/restart'),
  send('PUT /cluster/worker-1/restart'),
  send('PUT /cluster/nope/restart'),
  send('PUT /cluster/restart'),
]
