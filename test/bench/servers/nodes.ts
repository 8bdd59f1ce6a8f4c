/**
 * Many nodes in one process, each with 500 rows of about 600 bytes, that respond at once with prepared bytes over plain
 * sockets. On 127.0.0.1 `GET /<node>/` returns the rows of that node in the order of `scan_id`. Each node also has an
 * address on the same port for a whole edge in front: packages, the agents of all nodes, the error by which a node shows
 * that it does not distribute, and a small response to anything else.
 */
import { createServer, type Socket } from 'node:net'
import { addressOf, nodeName } from '../cluster/names.ts'

const [port = '0', many = '3'] = process.argv.slice(2)
const ROWS = 500
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

function words(seed: number, length: number): string {
  let text = ''
  for (let state = seed + 1; text.length < length; state = (state * 48271) % 2147483647) {
    text += state % 6 === 0 ? ' ' : LETTERS[state % 26]
  }
  return text
}

/** A row of the package inventory: nested fields first, the agent last. */
function row(node: number, at: number): object {
  const name = `package-${words(node * ROWS + at, 8).replaceAll(' ', '-')}-${at}`
  return {
    scan: { id: 1_000_000 + at * 311 + ((node * 7919) % 311), time: '2026/11/20 13:56:37' },
    format: 'deb',
    name,
    priority: 'optional',
    section: 'libs',
    vendor: 'Some Developers <list@packages.example.com>',
    install_time: '2026/01/01 00:00:00',
    version: `1.${at}.3-4`,
    architecture: 'amd64',
    multiarch: 'same',
    source: name,
    description: words(at * 31 + node, 190),
    location: '/usr/lib/packages',
    size: 12345 + at,
    agent_id: String(node + 1).padStart(3, '0'),
  }
}

function answer(items: readonly object[], totalItems: number): Buffer {
  return respond(JSON.stringify({ error: 0, data: { items, totalItems } }))
}

function respond(text: string): Buffer {
  const body = Buffer.from(text)
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

const alone = respond(JSON.stringify({ error: 1000, message: 'Internal error' }))
const rowsOf = (node: number) => Array.from({ length: ROWS }, (_, at) => row(node, at))
const nodes = Array.from({ length: Number(many) }, (_, node) => node)
const packages = nodes.map((node) => answer(rowsOf(node), ROWS))
const small = nodes.map((node) => answer([row(node, 0), row(node, 1)], 2))
const agents = nodes.map((node) => {
  return { id: String(node + 1).padStart(3, '0'), node_name: nodeName(node), status: 'Active' }
})

function answerOf(node: number, target: string): Buffer {
  const { pathname, searchParams } = new URL(target, 'http://node')
  const offset = Number(searchParams.get('offset') ?? 0)
  const limit = Number(searchParams.get('limit') ?? ROWS)
  if (/^\/cluster\/[^/]+\/info$/.test(pathname)) return alone
  if (pathname === '/agents') return answer(agents.slice(offset, offset + limit), agents.length)
  if (pathname !== '/experimental/syscollector/packages') return small[node] ?? Buffer.alloc(0)
  if (offset === 0 && limit >= ROWS) return packages[node] ?? Buffer.alloc(0)
  return answer(rowsOf(node).slice(offset, offset + limit), ROWS)
}

function serve(socket: Socket, answer: (target: string) => Buffer): void {
  let head = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    head += chunk.toString('latin1')
    if (!head.endsWith('\r\n\r\n')) return
    const target = head.split(' ', 2)[1] ?? '/'
    head = ''
    socket.write(answer(target))
  })
}

const options = { noDelay: true }
createServer(options, (socket) => {
  serve(socket, (target) => packages[Number(target.slice(1, -1))] ?? Buffer.alloc(0))
}).listen(Number(port), '127.0.0.1')
for (const node of nodes) {
  createServer(options, (socket) => serve(socket, (target) => answerOf(node, target))).listen(
    Number(port),
    addressOf(node),
  )
}
