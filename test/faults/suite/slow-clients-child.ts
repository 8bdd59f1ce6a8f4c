/** Slow clients as a process, so that their work does not delay the load: connections that send one byte per second. */
import { connect } from 'node:net'

const [port, count] = [Number(process.argv[2]), Number(process.argv[3])]
/** Milliseconds between two connections. */
const RAMP_MS = 2
const DRIP_MS = 1000

/** Resolves with the lifetime of the connection in milliseconds. */
function slowConnection(): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  let begin = performance.now()
  let timer: NodeJS.Timeout | undefined
  socket.on('error', () => undefined).on('data', () => undefined)
  socket.on('connect', () => {
    begin = performance.now()
    socket.write('GET /agents HTTP/1.1\r\nHost: x\r\nX-Slow: ')
    timer = setInterval(() => socket.writable && socket.write('x'), DRIP_MS)
  })
  return new Promise((resolve) => {
    socket.on('close', () => {
      clearInterval(timer)
      resolve(performance.now() - begin)
    })
  })
}

process.on('disconnect', () => process.exit())
const closed: Promise<number>[] = []
for (const begin = performance.now(); closed.length < count; await new Promise((resolve) => setTimeout(resolve, 10))) {
  const due = Math.min(count, Math.ceil((performance.now() - begin) / RAMP_MS))
  while (closed.length < due) closed.push(slowConnection())
}
process.send?.(await Promise.all(closed))
