import http from 'node:http'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import t, { type Test } from 'tap'
import { eventually } from '../support/eventually.ts'
import { type Fault, startFaultProxy } from './proxy.ts'

const TEXT = 'a body of thirty bytes, exactly'

async function between(test: Test, fault: Fault) {
  return behind(
    test,
    fault,
    http.createServer((_, response) => response.end(TEXT)),
  )
}

/** Puts a proxy with the fault in front of the server. */
async function behind(test: Test, fault: Fault, server: net.Server) {
  const sockets: net.Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const proxy = await startFaultProxy((server.address() as AddressInfo).port)
  test.teardown(async () => {
    await proxy.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await proxy.set(fault)
  return proxy
}

/** A server of plain connections that calls `onSocket` with each and outlives their resets. */
const plainServer = (onSocket: (socket: net.Socket) => void) =>
  net.createServer({ allowHalfOpen: true }, (socket) => onSocket(socket.on('error', () => undefined)))

const connect = (port: number) =>
  net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)

/** Returns all bytes that a plain socket receives, and how the connection ended. */
function exchange(port: number, patience = 30_000): Promise<{ bytes: string; end: string; ms: number }> {
  const began = performance.now()
  return new Promise((resolve) => {
    let bytes = ''
    const socket = net.connect(port, '127.0.0.1')
    const over = (end: string) => {
      socket.destroy()
      resolve({ bytes, end, ms: performance.now() - began })
    }
    socket.setTimeout(patience, () => over('silence'))
    socket.on('connect', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'))
    socket.on('data', (data) => {
      bytes += data
    })
    socket.on('end', () => over('fin'))
    socket.on('error', (error) => over((error as NodeJS.ErrnoException).code ?? 'error'))
  })
}

t.test('pass forwards every byte', async (t) => {
  const proxy = await between(t, { kind: 'pass' })
  const { bytes, end } = await exchange(proxy.port)
  t.ok(bytes.endsWith(TEXT))
  t.equal(end, 'fin')
  t.equal(proxy.accepted(), 1)
})

t.test('a link delays each direction by its own time', async (t) => {
  const there = await between(t, { kind: 'link', toTarget: { delay: 150 } })
  const back = await between(t, { kind: 'link', toClient: { delay: 150 } })
  const both = await between(t, { kind: 'link', toTarget: { delay: 150 }, toClient: { delay: 150 } })
  for (const [proxy, least] of [
    [there, 145],
    [back, 145],
    [both, 290],
  ] as const) {
    const { bytes, ms } = await exchange(proxy.port)
    t.ok(bytes.endsWith(TEXT))
    t.ok(ms >= least, `${ms} ms`)
    t.ok(proxy.affected() > 0, 'the fault is counted')
  }
})

t.test('jitter and a change of the delay keep the order of bytes', async (t) => {
  const fault: Fault = { kind: 'link', toTarget: { jitter: 60, loss: 0.05 }, toClient: { delay: 20, jitter: 60 } }
  const proxy = await behind(
    t,
    fault,
    plainServer((socket) => void socket.pipe(socket)),
  )
  const socket = connect(proxy.port).setNoDelay()
  let received = ''
  socket.on('data', (data) => (received += data))
  const sent = Array.from({ length: 200 }, (_, at) => `${at};`)
  for (const [at, text] of sent.entries()) {
    await new Promise<void>((done) => void socket.write(text, () => done()))
    if (at === 150) await proxy.set({ kind: 'pass' })
  }
  await eventually(() => received.length === sent.join('').length)
  t.equal(received, sent.join(''))
  socket.destroy()
})

t.test('a direction that loses everything delivers it when the link works again', async (t) => {
  for (const fault of [{ toTarget: { loss: 1 } }, { toClient: { loss: 1 } }]) {
    const proxy = await between(t, { kind: 'link', ...fault })
    const replies: string[] = []
    const delayed = exchange(proxy.port).then(({ bytes }) => replies.push(bytes))
    await eventually(() => proxy.affected() > 0)
    const other = await between(t, { kind: 'pass' })
    t.ok((await exchange(other.port)).bytes.endsWith(TEXT))
    t.same(replies, [], 'nothing arrives')
    await proxy.set({ kind: 'pass' })
    await delayed
    t.ok(replies[0]?.endsWith(TEXT), 'no byte is lost')
  }
})

t.test('what the client sent before it closed still arrives at the target', async (t) => {
  const received: string[] = []
  const target = plainServer((socket) => void socket.on('data', (data) => received.push(String(data))))
  const proxy = await behind(t, { kind: 'link', toTarget: { loss: 1 } }, target)
  const socket = connect(proxy.port)
  await new Promise<void>((done) => void socket.write('late', () => done()))
  await eventually(() => proxy.affected() > 0)
  socket.destroy()
  await proxy.set({ kind: 'pass' })
  await eventually(() => received.join('') === 'late')
})

t.test('slowClose ends open connections toward the client only, and later ones work', async (t) => {
  const received: string[] = []
  let closed = 0
  const target = plainServer((socket) => {
    socket.on('data', (data) => received.push(String(data)))
    socket.on('close', () => {
      closed += 1
    })
  })
  const proxy = await behind(t, { kind: 'pass' }, target)
  const first = connect(proxy.port)
  first.write('one')
  await eventually(() => received.join('') === 'one')
  const ended = new Promise((resolve) => first.on('end', resolve).resume())
  await proxy.set({ kind: 'slowClose' })
  await ended
  t.equal(proxy.affected(), 1)
  first.write('two')
  await eventually(() => received.join('') === 'onetwo')
  first.end()
  const second = connect(proxy.port)
  second.write('three')
  await eventually(() => received.join('') === 'onetwothree')
  t.equal(closed, 0, 'the target still has both connections')
  await proxy.set({ kind: 'pass' })
  await eventually(() => closed === 1)
  second.destroy()
})

t.test('drip sends one byte at a time', async (t) => {
  const proxy = await between(t, { kind: 'drip', ms: 1 })
  const { bytes, ms } = await exchange(proxy.port)
  t.ok(bytes.endsWith(TEXT))
  t.ok(ms >= 100)
})

t.test('stall accepts the connection and sends nothing', async (t) => {
  const proxy = await between(t, { kind: 'stall' })
  const received: string[] = []
  const stalled = exchange(proxy.port).then(({ bytes }) => received.push(bytes))
  await eventually(() => proxy.accepted() === 1)
  // A complete exchange next to it: without the fault, the response would have come by now.
  const other = await between(t, { kind: 'pass' })
  t.ok((await exchange(other.port)).bytes.endsWith(TEXT))
  t.same(received, [], 'neither bytes nor an end')
  await proxy.set({ kind: 'pass' })
  await stalled
  t.ok(received[0]?.endsWith(TEXT), 'no byte is lost')
})

t.test('reset answers a request with RST', async (t) => {
  const proxy = await between(t, { kind: 'reset' })
  t.match(await exchange(proxy.port), { bytes: '', end: 'ECONNRESET' })
})

t.test('refuse closes the port until another fault is set', async (t) => {
  const proxy = await between(t, { kind: 'refuse' })
  t.equal((await exchange(proxy.port)).end, 'ECONNREFUSED')
  await proxy.set({ kind: 'pass' })
  t.ok((await exchange(proxy.port)).bytes.endsWith(TEXT))
})

t.test('cut ends the response after the given number of bytes', async (t) => {
  const proxy = await between(t, { kind: 'cut', after: 20 })
  const { bytes, end } = await exchange(proxy.port)
  t.equal(bytes.length, 20)
  t.equal(end, 'fin')
})

t.test('halfClose sends FIN instead of a response', async (t) => {
  const proxy = await between(t, { kind: 'halfClose' })
  t.match(await exchange(proxy.port), { bytes: '', end: 'fin' })
})

t.test('idleClose answers, then closes the idle connection', async (t) => {
  const proxy = await between(t, { kind: 'idleClose', least: 1, most: 20 })
  const socket = net.connect(proxy.port, '127.0.0.1')
  let bytes = ''
  const ended = new Promise((resolve) => socket.on('data', (data) => (bytes += data)).on('end', resolve))
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await ended
  socket.destroy()
  t.ok(bytes.endsWith(TEXT), 'the response is complete')
  t.equal(proxy.idleCloses(), 1)
})
