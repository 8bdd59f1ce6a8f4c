/** The baseline: node:http that writes a Buffer. The same server is the origin of the others. */
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTls } from 'node:https'
import { bodyOf } from '../bodies.ts'

const [port, cert, key] = process.argv.slice(2)
const bodies = new Map<number, Buffer>()

const serve: RequestListener = (request, response) => {
  const rows = Number(/limit=(\d+)/.exec(request.url ?? '')?.[1] ?? 2)
  const body = bodies.get(rows) ?? bodyOf(rows)
  bodies.set(rows, body)
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    'cache-control': 'max-age=3600',
  })
  response.end(body)
}

const server =
  cert && key ? createTls({ cert: readFileSync(cert), key: readFileSync(key) }, serve) : createServer(serve)
server.listen(Number(port), '127.0.0.1')
