import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t from 'tap'
import { startSimulator } from '../../../src/simulator/index.ts'
import { startEdge } from '../../support/edge.ts'

type Tap = { teardown(end: () => unknown): unknown }

async function running(t: Tap, settings: Readonly<Record<string, unknown>> = {}) {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: 'simulated', settings })
  t.teardown(() => edge.close())
  return edge
}

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)

/** What comes back for bytes that are sent as they are. */
function raw(url: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk) => (text += chunk))
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

t.test('operators sign in over TLS where it is set', async (t) => {
  const tls = { cert: fixture('first.crt'), key: fixture('first.key') }
  const edge = await running(t, { operations: { tls }, listen: { tls } })
  t.match(edge.url, /^https:/, 'as the console says it')
  const lines = edge.logged.filter((line) => line.includes(`://${new URL(edge.url).host}`))
  t.ok(lines.length > 0)
  t.ok(
    lines.every((line) => line.includes(edge.url)),
    'and the log',
  )
  const { hostname, port, protocol } = new URL(edge.operationsUrl)
  t.equal(protocol, 'https:')
  const ask = (path: string) =>
    new Promise<{ status: number | undefined; name: string }>((resolve, reject) => {
      const headers = { authorization: edge.authorization('operator') }
      const call = request({ hostname, port, path, headers, rejectUnauthorized: false }, (answer) => {
        const { CN } = (answer.socket as TLSSocket).getPeerCertificate().subject
        resolve({ status: answer.resume().statusCode, name: String(CN) })
      })
      call.on('error', reject).end()
    })
  t.strictSame(await ask('/api/now'), { status: 200, name: 'first.edge.test' })
  t.match(
    await raw(edge.operationsUrl, 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'),
    /^(?:HTTP\/1.1 400|$)/,
    'not in clear',
  )
})

t.test('it reads requests as strictly as the public one', async (t) => {
  const { operationsUrl } = await running(t)
  const smuggled =
    'POST /api/purge HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'
  t.match(await raw(operationsUrl, smuggled), /^HTTP\/1.1 400 /)
  const many = Array.from({ length: 101 }, (_, at) => `X-${at}: 1\r\n`).join('')
  t.match(await raw(operationsUrl, `GET /livez HTTP/1.1\r\nHost: x\r\n${many}\r\n`), /^HTTP\/1.1 4\d\d /)
  t.match(await raw(operationsUrl, 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'), /^HTTP\/1.1 200 /)
})
