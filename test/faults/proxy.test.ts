import http from 'node:http'
import type { AddressInfo } from 'node:net'
import net from 'node:net'
import t, { type Test } from 'tap'
import { eventually } from '../support/eventually.ts'
import { type Fault, startFaultProxy } from './proxy.ts'

const TEXT = 'a body of thirty bytes, exactly'

async function between(test: Test, fault: Fault) {
  const server = http.createServer((_, response) => response.end(TEXT))
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const proxy = await startFaultProxy((server.address() as AddressInfo).port)
  test.teardown(async () => {
    await proxy.close()
    server.closeAllConnections()
    server.close()
  })
  await proxy.set(fault)
  return proxy
}

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

t.test('latency delays every chunk in both directions', async (t) => {
  const proxy = await between(t, { kind: 'latency', ms: 100 })
  const { bytes, ms } = await exchange(proxy.port)
  t.ok(bytes.endsWith(TEXT))
  t.ok(ms >= 195, 'once in each direction')
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
