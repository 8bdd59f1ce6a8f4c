/** A cheap client: sends many GETs in one write over one connection and checks the responses. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { authorization } from '../../../faults/coherence/processes.ts'

export interface Pipelined {
  /** Rejects unless each agent was answered with itself, in this order. */
  ask(agents: readonly string[]): Promise<void>
  close(): void
}

const HEAD = /HTTP\/1\.1 (\d{3})/g
const AGENT = /\{"error":0,"data":\{"id":"(\d+)"[^}]*\}\}/g
/** Milliseconds without a byte of an expected response. */
const PATIENCE = 120_000

export async function pipelined(url: string): Promise<Pipelined> {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1')
  await once(socket, 'connect')
  socket.on('timeout', () => socket.destroy(new Error('no byte was received')))
  let onChunk: (chunk: string) => void = () => {}
  let failed: (fault: Error) => void = () => {}
  socket.on('data', (chunk: string) => onChunk(chunk))
  socket.on('error', (fault) => failed(fault))
  socket.on('close', () => failed(new Error('the connection ended')))
  return {
    ask: (agents) =>
      new Promise<void>((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the connection ended before'))
        // A client waits between two calls as long as it takes.
        socket.setTimeout(PATIENCE)
        let text = ''
        failed = reject
        onChunk = (chunk) => {
          text += chunk
          const other = [...text.matchAll(HEAD)].find(([, status]) => status !== '200')
          if (other !== undefined) return reject(new Error(text.slice(other.index, other.index + 500)))
          const found = [...text.matchAll(AGENT)].map(([, id]) => id)
          if (found.length < agents.length) return
          if (found.join() === agents.join()) resolve()
          else reject(new Error(`asked for ${agents}, got ${found}`))
        }
        const get = (id: string) =>
          `GET /agents/${id} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\n\r\n`
        socket.write(agents.map(get).join(''))
      }).finally(() => socket.setTimeout(0)),
    close() {
      failed = () => {}
      socket.destroy()
    },
  }
}
