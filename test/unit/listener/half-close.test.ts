/** A client that closes its side of the connection after its requests gets their responses, whatever they wait for. */
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { serve, statuses } from './raw.ts'

const fixture = (name: string) => `${import.meta.dirname}/../../support/certificates/${name}`
const tls = { cert: fixture('first.crt'), key: fixture('first.key') }

const connections: Readonly<Record<string, (port: number) => Socket>> = {
  plain: (port) => connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true }),
  'TLS 1.2': (port) => openTls(port, 'TLSv1.2'),
  'TLS 1.3': (port) => openTls(port, 'TLSv1.3'),
}

function openTls(port: number, version: 'TLSv1.2' | 'TLSv1.3'): Socket {
  const options = {
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    allowHalfOpen: true,
    maxVersion: version,
  } as const
  return connectTls(options)
}

const slow = 'GET /slow HTTP/1.1\r\nHost: a\r\n\r\n'
const fast = slow.replace('slow', 'fast')
const write = 'POST /slow HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'

/** What a client sends before it closes its side, and the statuses that it gets. */
const sent: Readonly<Record<string, { readonly bytes: string; readonly statuses: readonly number[] }>> = {
  'a read that waits': { bytes: slow, statuses: [200] },
  'a read that does not wait': { bytes: fast, statuses: [200] },
  'a write that waits': { bytes: write, statuses: [200] },
  'with Connection: close': { bytes: slow.replace('Host', 'Connection: close\r\nHost'), statuses: [200] },
  'HTTP/1.0': { bytes: slow.replace('1.1', '1.0'), statuses: [200] },
  'several at once': { bytes: slow + write + fast + slow, statuses: [200, 200, 200, 200] },
  'one, and a part of another': { bytes: `${slow}GET /fast HT`, statuses: [200, 400] },
  // Node closes the connection behind the last response to a client that has closed its side.
  'one, and no HTTP': { bytes: `${slow}GARBAGE\r\n\r\n`, statuses: [200] },
  'one, and CONNECT': { bytes: `${slow}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`, statuses: [200, 405] },
  'a part of a body': { bytes: write.slice(0, -1), statuses: [400] },
  nothing: { bytes: '', statuses: [] },
}

for (const [name, open] of Object.entries(connections))
  for (const [what, { bytes, statuses: expected }] of Object.entries(sent))
    t.test(`${name}: ${what}`, async (t) => {
      const { port, ended } = await serveSlow(t, name !== 'plain')
      const socket = open(port)
      t.teardown(() => socket.destroy())
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk
      })
      await once(socket, name === 'plain' ? 'connect' : 'secureConnect')
      if (bytes !== '') socket.write(bytes)
      socket.end()
      if (!socket.readableEnded) await once(socket, 'end')
      t.same(statuses(text), expected, text)
      if (bytes.includes('/slow')) t.ok(ended() > 0, 'the response waited for the end')
    })

t.test('a connection that ends within the TLS handshake is closed at once', async (t) => {
  const { port, listener } = await serveSlow(t, true)
  const socket = connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  socket.end(Buffer.from('160301', 'hex'))
  await once(socket.resume(), 'end')
  const [server] = listener.servers
  t.equal(await new Promise((done) => server?.getConnections((_, count) => done(count))), 0)
})

/** Responses to `/slow` wait until the client has closed its side. */
async function serveSlow(t: Test, usesTls: boolean) {
  let ended = 0
  const released: (() => void)[] = []
  const served = await serve(t, { ...(usesTls && { tls }) }, (app) => {
    app.addHook('onRequest', async ({ raw: { socket } }) => {
      if (socket.listeners('end').includes(onEnd)) return
      if (socket.readableEnded) onEnd()
      else socket.on('end', onEnd)
    })
    app.all('/slow', async () => {
      if (ended === 0) await new Promise<void>((resolve) => released.push(resolve))
      return { error: 0 }
    })
  })
  const onEnd = () => {
    ended += 1
    for (const release of released.splice(0)) release()
  }
  return { ...served, ended: () => ended }
}
