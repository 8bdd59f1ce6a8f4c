import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

type Test = { teardown(end: () => unknown): unknown }

async function startTestEdge(t: Test, settings: Readonly<Record<string, unknown>> = {}) {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
  t.teardown(() => edge.close())
  return edge
}

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)

/** Sends the bytes and returns the response as text. */
function sendRaw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk) => (text += chunk))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

t.test('the operations listener uses TLS if it is configured', async (t) => {
  const tls = { cert: fixture('first.crt'), key: fixture('first.key') }
  const edge = await startTestEdge(t, { operations: { tls }, listen: { tls } })
  t.match(edge.url, /^https:/, 'the address of the public listener has the scheme https')
  const lines = edge.logged.filter((line) => line.includes(`://${new URL(edge.url).host}`))
  t.ok(lines.length > 0)
  t.ok(
    lines.every((line) => line.includes(edge.url)),
    'the log has the same address',
  )
  const { hostname, port, protocol } = new URL(edge.operationsUrl)
  t.equal(protocol, 'https:')
  const get = (path: string) =>
    new Promise<{ status: number | undefined; name: string }>((resolve, reject) => {
      const headers = { authorization: edge.authorization('operator') }
      const call = request({ hostname, port, path, headers, rejectUnauthorized: false }, (response) => {
        const { CN } = (response.socket as TLSSocket).getPeerCertificate().subject
        resolve({ status: response.resume().statusCode, name: String(CN) })
      })
      call.on('error', reject).end()
    })
  t.strictSame(await get('/api/now'), { status: 200, name: 'first.edge.test' })
  t.match(
    await sendRaw(edge.operationsUrl, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'),
    /^(?:HTTP\/1.1 400|$)/,
    'plain HTTP is refused',
  )
})

t.test('the operations listener refuses malformed requests as the public listener does', async (t) => {
  const { operationsUrl } = await startTestEdge(t)
  const smuggled =
    'POST /api/purge HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  t.match(await sendRaw(operationsUrl, smuggled), /^HTTP\/1.1 400 /)
  const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('')
  t.match(await sendRaw(operationsUrl, `GET /livez HTTP/1.1\r\nHost: x\r\n${many}\r\n`), /^HTTP\/1.1 4\d\d /)
  t.match(
    await sendRaw(operationsUrl, 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
    /^HTTP\/1.1 200 /,
  )
})
