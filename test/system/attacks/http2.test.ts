/** HTTP/2 is not supported: a flood of frames is rejected as one bad request for each connection. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'

const fixture = (name: string) => join(import.meta.dirname, '../../support/certificates', name)
const CONNECTIONS = 40
const FRAMES = 10_000

/** RFC 9113 section 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)])
/** `:method GET`, `:scheme http`, `:path /` of the static table (RFC 7541). */
const headers = Buffer.from([0x82, 0x86, 0x84])
const many = (one: (at: number) => Buffer[]) =>
  Buffer.concat([preface, ...Array.from({ length: FRAMES }, (_, at) => one(at)).flat()])

const floods: Readonly<Record<string, Buffer>> = {
  'rapid reset': many((at) => [frame(1, 5, 2 * at + 1, headers), frame(3, 0, 2 * at + 1, Buffer.alloc(4))]),
  continuation: many((at) => [at === 0 ? frame(1, 0, 1, headers) : frame(9, 0, 1, headers)]),
  settings: many(() => [frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff]))]),
}

type Open = () => Socket | TLSSocket

/** Writes all bytes. Returns what was received until the edge closed the connection. */
async function flood(open: Open, bytes: Buffer): Promise<string> {
  const socket = open()
  let text = ''
  socket.on('data', (chunk) => (text += chunk))
  // The edge may reset the connection, because it does not read all bytes.
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect' in socket ? 'secureConnect' : 'connect')
  socket.write(bytes)
  if (!socket.closed) await once(socket, 'close')
  return text
}

async function running(tap: { teardown(end: () => unknown): unknown }, secure: boolean): Promise<RunningEdge> {
  const simulator = await startSimulator({ agents: 3, workers: 0 })
  tap.teardown(() => simulator.close())
  const tls = secure ? { tls: { cert: fixture('first.crt'), key: fixture('first.key') } } : {}
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: {
      listen: tls,
      operations: tls,
      cache: { ttl: { agents: '10m' } },
      access: { limits: { requestsPerSecond: 1e6 } },
    },
  })
  tap.teardown(() => edge.close())
  return edge
}

const portOf = (url: string) => Number(new URL(url).port)

t.test('over TLS, ALPN selects HTTP/1.1 only', async (t) => {
  const edge = await running(t, true)
  for (const url of [edge.url, edge.operationsUrl]) {
    const offer = async (protocols: string[]) => {
      const socket = connectTls({ port: portOf(url), rejectUnauthorized: false, ALPNProtocols: protocols })
      await once(socket, 'secureConnect')
      socket.destroy()
      return socket.alpnProtocol
    }
    t.equal(await offer(['h2', 'http/1.1']), 'http/1.1')
    await t.rejects(offer(['h2']), /no application protocol/i, 'RFC 7301 section 3.2')
  }
})

for (const secure of [false, true]) {
  t.test(
    `floods of frames ${secure ? 'over TLS' : 'in clear'} are rejected once per connection, and HTTP/1.1 is served meanwhile`,
    async (t) => {
      const edge = await running(t, secure)
      const openTo = (url: string): Open => {
        const port = portOf(url)
        return () => (secure ? connectTls({ port, rejectUnauthorized: false }) : connect(port, '127.0.0.1'))
      }
      const open = openTo(edge.url)
      const hit = async () => {
        const request = `GET /agents HTTP/1.1\r\nHost: edge\r\nAuthorization: ${edge.authorization('admin')}\r\nConnection: close\r\n\r\n`
        return (await flood(open, Buffer.from(request))).split('\r\n', 1)[0]
      }
      t.equal(await hit(), 'HTTP/1.1 200 OK')
      const lines = () => edge.logged.filter((line) => line.includes('"code":900')).length
      for (const [name, bytes] of Object.entries(floods)) {
        const before = lines()
        const cpu = process.cpuUsage()
        let flooding = true
        const hits = (async () => {
          const seen: (string | undefined)[] = []
          while (flooding || seen.length === 0) seen.push(await hit())
          return seen
        })()
        const responses = await Promise.all(Array.from({ length: CONNECTIONS }, () => flood(open, bytes)))
        flooding = false
        const { user, system } = process.cpuUsage(cpu)
        const each = ((user + system) / 1000 / CONNECTIONS).toFixed(1)
        t.comment(`${name}: ${each} ms of CPU for a connection, both sides of it`)
        const isOne = (text: string) => text.startsWith('HTTP/1.1 400 ') && text.lastIndexOf('HTTP/1.1') === 0
        const wrong = responses.filter((text) => text !== '' && !isOne(text))
        t.strictSame(wrong, [], 'one response per connection, unless a reset discarded it')
        t.strictSame([...new Set(await hits)], ['HTTP/1.1 200 OK'], 'clients with HTTP/1.1 are served meanwhile')
        t.equal(lines() - before, CONNECTIONS, `${name}: one line for each connection, not for each frame`)
        const text = await flood(openTo(edge.operationsUrl), bytes)
        if (text !== '') t.match(text, /^HTTP\/1\.1 400 /, `${name}: operations`)
      }
      const text = await flood(open, preface)
      t.match(text, /^HTTP\/1\.1 400 /, 'without a flood the refusal can be read')
      t.match(text, /connection: close/i)
    },
  )
}
