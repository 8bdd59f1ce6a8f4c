/** The program over standard input and output, against a running edge and a simulated cluster. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { startEdge } from '../../../test/support/edge.ts'
import { result } from '../../../test/system/process/program.ts'
import { startSimulator } from '../../simulator/src/index.ts'
import { connect, credentials } from './mcp.ts'

const simulator = await startSimulator({ agents: 60, workers: 1, username: 'edge', password: 'only-for-tests' })
t.teardown(() => simulator.close())
const edge = await startEdge({ nodes: simulator.nodes, settings: { cache: { ttl: { agents: '120s' } } } })
t.teardown(() => edge.close())
const writes = () => simulator.seen.filter(({ method }) => method !== 'GET').length

t.test('tools come from the catalogue, read through the cache, and are cut with a cursor', async (t) => {
  const args = ['--url', edge.url, ...credentials(t.testdir({}), 'reader'), '--max-tokens', '500']
  const { client, call } = await connect(t, args)
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  t.ok(names.includes('read_agents') && names.includes('describe_operation'), names.join(' '))
  t.notOk(
    names.some((name) => /write/.test(name)),
    'writes are off',
  )
  t.ok(tools.length < 20, `${tools.length} tools`)
  t.ok(JSON.stringify(tools).length < 60_000, `${JSON.stringify(tools).length} characters`)
  const listed = tools.flatMap(
    ({ inputSchema }) => (inputSchema.properties?.operation as { enum?: string[] })?.enum ?? [],
  )
  t.equal(new Set(listed).size, listed.length, 'each operation is in one tool')
  t.notOk(listed.includes('getAgentsByAgentIdKey'), 'no operation that returns a key')

  const first = await call('read_agents', { operation: 'getAgents', parameters: { sort: '+id' } })
  t.match(first.facts, {
    status: 200,
    'Cache-Status': /fwd=uri-miss; stored/,
    extent: /^rows 1 to \d+ of 61$/,
    cursor: String,
  })
  const again = await call('read_agents', { operation: 'getAgents', parameters: { sort: '+id' } })
  t.match(again.facts, { 'Cache-Status': /; hit/, Age: /^\d+$/ })
  t.same(JSON.parse(again.data), JSON.parse(first.data))
  const ids: string[] = []
  for (let next = first; ; next = await call('continue_result', { cursor: next.facts.cursor })) {
    ids.push(...JSON.parse(next.data).map(({ id }: { id: string }) => id))
    if (next.facts.cursor === undefined) break
  }
  t.equal(ids.length, 61)
  t.strictSame(ids, [...new Set(ids)].sort(), 'all agents, each once')

  const described = await call('describe_operation', { operation: 'getAgentsByAgentId' })
  t.match(described.texts[0], /GET \/agents\/:agent_id[\s\S]*Permission[\s\S]*agent_id \(mandatory\)/)
  const missing = await call('read_agents', { operation: 'getAgentsByAgentId', parameters: { agent_id: '999' } })
  t.match(missing.data, /1701/, 'errors of the manager are data too')
  const wrong = await call('read_agents', { operation: 'getAgents', parameters: { limt: 5 } })
  t.ok(wrong.isError)
  t.match(wrong.texts[0], /Did you mean "limit"\?$/)
  for (const agent_id of ['..', '.', ''])
    t.match(
      (await call('read_agents', { operation: 'getAgentsByAgentId', parameters: { agent_id } })).texts[0],
      /^Wrong arguments/,
    )
  t.match((await call('preview_write', { operation: 'deleteAgentsByAgentId' })).texts[0], /there is no tool/)

  const { resources } = await client.listResources()
  const { resourceTemplates } = await client.listResourceTemplates()
  t.ok(resources.some(({ uri }) => uri === 'edge://api/agents/summary'))
  t.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'edge://api/agents/{agent_id}'))
  const summary = await client.readResource({ uri: 'edge://api/agents/summary' })
  t.match((summary.contents[0] as { text: string }).text, /"status":200[\s\S]*<data-[0-9a-f]{24}>\n\{"error":0/)
  const agent = await client.readResource({ uri: 'edge://api/agents/001?select=id' })
  t.match((agent.contents[0] as { text: string }).text, /"id":"001"/)
  await t.rejects(client.readResource({ uri: 'edge://api/agents/001/key' }), /no read has this address/)
  const distinct = (parameters: object) => call('read_agents', { operation: 'getAgentsStatsDistinct', parameters })
  t.match((await distinct({ fields: 'os.name' })).facts.status, 403, 'with the rights of the account')
  for (const parameters of [{}, { fields: 'internal_key' }])
    t.match(
      (await distinct(parameters)).texts[0],
      /^Wrong arguments: the response may contain a field that is a secret/,
    )
})

t.test('a write needs a preview and the code that only the person sees, once', async (t) => {
  const args = ['--url', edge.url, ...credentials(t.testdir({})), '--allow-writes']
  const { call, shown } = await connect(t, args)
  const before = writes()
  const request = { operation: 'putAgentsByAgentIdRestart', parameters: { agent_id: '003' } }
  const preview = await call('preview_write', request)
  t.match(preview.facts, {
    sends: { method: 'PUT', path: '/agents/003/restart' },
    permission: 'agents:restart',
    invalidates: Array,
  })
  const code = /this code: (\w+)/.exec(shown())?.[1] ?? ''
  t.match(shown(), /A write waits for you: PUT \/agents\/003\/restart\n/)
  t.notOk(preview.texts.join().includes(code), 'the assistant does not get the code')
  const { id } = preview.facts
  t.match((await call('confirm_write', { id })).texts[0], /^Nothing was sent/)
  t.equal(writes(), before)
  const done = await call('confirm_write', { id, code })
  t.match(done.facts, { status: 200 })
  t.match(done.data, /"error":0/)
  t.equal(writes(), before + 1)
  t.match((await call('confirm_write', { id, code })).texts[0], /^Nothing was sent: no write with this id/)
  t.equal(writes(), before + 1, 'once')
  const deletes = await call('preview_write', { operation: 'deleteAgentsByAgentId', parameters: { agent_id: '7' } })
  t.ok((deletes.facts.invalidates as string[]).includes('collection:agents'))
})

t.test('a client that can ask its person needs no code', async (t) => {
  const client = new Client({ name: 'asking', version: '1' }, { capabilities: { elicitation: {} } })
  const answers = ['decline', 'accept'] as const
  const questions: string[] = []
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    questions.push(params.message)
    const action = answers[questions.length - 1] ?? 'cancel'
    return { action, ...(action === 'accept' && { content: { send: true } }) }
  })
  const { call } = await connect(t, ['--url', edge.url, ...credentials(t.testdir({})), '--allow-writes'], client)
  const request = { operation: 'putAgentsByAgentIdRestart', parameters: { agent_id: '004' } }
  const before = writes()
  const declined = await call('preview_write', request)
  t.match((await call('confirm_write', { id: declined.facts.id })).texts[0], /the person refused it/)
  t.equal(writes(), before)
  const accepted = await call('preview_write', request)
  t.match((await call('confirm_write', { id: accepted.facts.id })).facts, { status: 200 })
  t.equal(writes(), before + 1)
  t.match(questions[1], /PUT \/agents\/004\/restart/)
})

t.test('the v4 contract is served with its own operations, and logs in with the password', async (t) => {
  const nodes = await startSimulator({ agents: 9, username: 'edge', password: 'only-for-tests', layout: 'v4' })
  t.teardown(() => nodes.close())
  const settings = { cluster: { layout: 'v4' }, listen: { contract: 'v4' } }
  const v4 = await startEdge({ nodes: nodes.nodes, settings })
  t.teardown(() => v4.close())
  const args = ['--url', v4.url, '--contract', 'v4', ...credentials(t.testdir({})), '--max-tokens', '300']
  const { call } = await connect(t, [...args, '--allow-writes'])
  const first = await call('read_agents', { operation: 'getAgents', parameters: { select: 'id,name' } })
  t.match(first.facts, { status: 200, extent: /^rows 1 to \d+ of 10$/ })
  const ids: string[] = []
  for (let next = first; ; next = await call('continue_result', { cursor: next.facts.cursor })) {
    ids.push(...JSON.parse(next.data).map(({ id }: { id: string }) => id))
    if (next.facts.cursor === undefined) break
  }
  t.equal(new Set(ids).size, 10)
  const preview = await call('preview_write', {
    operation: 'putAgentsByAgentIdRestart',
    parameters: { agent_id: '003' },
  })
  t.match(preview.facts, { sends: { method: 'PUT', path: '/agents/003/restart' } })
  const wrong = await result(t, [
    'mcp',
    '--url',
    v4.url,
    '--contract',
    'v4',
    ...credentials(t.testdir({}), 'admin', 'wrong'),
  ])
  t.match(wrong, { code: 1, err: /refuses the credentials of the account \(401\)/ })
})

t.test('a wrong password, an edge that is not there and missing options are clear sentences', async (t) => {
  const folder = t.testdir({})
  const run = (args: readonly string[]) => result(t, ['mcp', ...args])
  const wrong = await run(['--url', edge.url, ...credentials(folder, 'admin', 'wrong')])
  t.match(wrong, {
    code: 1,
    out: '',
    err: /refuses the credentials of the account \(401\)\. Check the user and the password/,
  })
  const nowhere = await run(['--url', 'http://127.0.0.1:9', ...credentials(folder)])
  t.match(nowhere, {
    code: 1,
    err: /The edge at http:\/\/127\.0\.0\.1:9 cannot be reached: .*Check --url, and whether the edge runs\./,
  })
  t.match(await run(['--url', edge.url, '--user', 'admin']), { code: 2, err: /give --password-file/ })
  t.match(await run(['--url', edge.url, ...credentials(folder), '--transport', 'http']), {
    code: 2,
    err: /--secret-file/,
  })
})
