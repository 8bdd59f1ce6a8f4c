/**
 * A process: a master that answers a page of agents with the agent of its offset, another read with the number of writes so
 * far, and each write with success. Argument: port.
 */
import { createServer } from 'node:http'
import { bodyOf } from './agents.ts'

let writes = 0

createServer((request, response) => {
  request.resume()
  if (request.method !== 'GET') writes += 1
  const offset = /offset=(\d+)/.exec(request.url ?? '')?.[1]
  const body = offset === undefined ? JSON.stringify({ error: 0, data: { writes } }) : bodyOf(Number(offset))
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}).listen(Number(process.argv[2]), '127.0.0.1')
