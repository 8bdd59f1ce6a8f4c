import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { startEdgeProcess } from '../../faults/suite/edge-process.ts'
import { startNodeUpstream } from '../../faults/suite/upstream.ts'
import { eventually } from '../../support/eventually.ts'

/** More than the 511 that Node asks the kernel for, and fewer than the usual limit of the kernel (4096). */
const CONNECTIONS = 1500

const limit = Number(await readFile('/proc/sys/net/core/somaxconn', 'utf8').catch(() => '0'))
const skip = limit >= CONNECTIONS ? false : `net.core.somaxconn is ${limit}`

t.test('connections that arrive while the process is busy are accepted later, none is lost', { skip }, async (t) => {
  const upstream = await startNodeUpstream()
  t.teardown(() => upstream.close())
  const edge = await startEdgeProcess({ nodes: upstream.nodes })
  t.teardown(() => edge.close())
  edge.pause()
  let [connected, answered] = [0, 0]
  const sockets = Array.from({ length: CONNECTIONS }, (): Socket => {
    const socket = connect(edge.port, '127.0.0.1', () => {
      connected += 1
      socket.write('GET /nothing HTTP/1.1\r\nHost: edge\r\n\r\n')
    })
    socket.on('error', () => undefined)
    socket.once('data', () => {
      answered += 1
    })
    return socket
  })
  t.teardown(() => sockets.forEach((socket) => void socket.destroy()))
  await eventually(() => connected === CONNECTIONS, 15_000).catch(() => undefined)
  t.equal(connected, CONNECTIONS, 'the kernel completes every connection')
  edge.resume()
  await eventually(() => answered === CONNECTIONS)
})
