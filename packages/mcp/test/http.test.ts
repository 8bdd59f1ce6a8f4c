/** The transport over HTTP: secret, host, origin, and a session of the SDK's client. */
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { startEdge } from '../../../test/support/edge.ts'
import { program, result } from '../../../test/system/process/program.ts'
import { startSimulator } from '../../simulator/src/index.ts'
import { credentials, resultOf } from './mcp.ts'

const SECRET = '0123456789abcdef0123456789abcdef'

t.test('HTTP needs the secret, an allowed host and no foreign origin; clients of the SDK read with it', async (t) => {
  const simulator = await startSimulator({ agents: 5, workers: 1, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes })
  t.teardown(() => edge.close())
  const folder = t.testdir({})
  const secret = join(folder, 'secret')
  writeFileSync(secret, `${SECRET}\n`)
  const common = ['mcp', '--url', edge.url, ...credentials(folder), '--transport', 'http', '--secret-file', secret]
  const running = program(t, [...common, '--port', '0', '--allow-origin', 'https://ui.example', '--allow-writes'])
  const [, address = ''] = await running.until(/at (http:\S+)/)
  t.match(address, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/, 'loopback by default')

  const send = (headers: Record<string, string>, { method = 'POST', path = '/mcp' } = {}) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { port } = new URL(address)
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
      const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers }
      const sent = request({ host: '127.0.0.1', port, path, method, headers: all, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      sent.once('error', reject)
      sent.end(method === 'POST' ? message : undefined)
    })
  const authorization = `Bearer ${SECRET}`
  t.match(await send({ authorization }), { status: 200, text: /read_agents/ })
  t.match(await send({}), { status: 401, text: /--secret-file/ })
  t.match(await send({ authorization: `Bearer ${SECRET}x` }), { status: 401 })
  t.match(await send({ authorization, host: 'evil.example' }), { status: 403, text: /--allow-host/ })
  t.match(await send({ authorization, host: '127.0.0.1.evil.example:80' }), { status: 403 })
  t.match(await send({ authorization, origin: 'https://evil.example' }), { status: 403, text: /--allow-origin/ })
  t.match(await send({ authorization, origin: 'null' }), { status: 403 })
  t.match(await send({ authorization, origin: 'https://ui.example' }), { status: 200 })
  t.match(await send({ authorization }, { path: '/' }), { status: 404 })
  t.match(await send({ authorization }, { method: 'GET' }), { status: 405 })

  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { authorization } } })
  await client.connect(transport as Transport)
  t.teardown(() => client.close())
  const call = async (name: string, args: Record<string, unknown>) =>
    resultOf((await client.callTool({ name, arguments: args })) as CallToolResult)
  t.match((await call('read_agents', { operation: 'getAgents' })).facts, { status: 200, extent: 'rows 1 to 6 of 6' })
  const preview = await call('preview_write', {
    operation: 'putAgentsByAgentIdRestart',
    parameters: { agent_id: '001' },
  })
  const [, code] = await running.until(/this code: (\w+)/)
  t.match(await call('confirm_write', { id: preview.facts.id, code }), { facts: { status: 200 } }, 'in a later request')

  writeFileSync(secret, 'short')
  t.match(await result(t, common), { code: 2, err: /16 characters or more/ })
})
