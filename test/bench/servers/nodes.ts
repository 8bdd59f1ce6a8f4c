/**
 * Many nodes in one process, each of 500 rows of some 600 bytes, that answer at once: prepared bytes over plain
 * sockets. `GET /<node>/…` is answered by that node, in the order of `scan_id`; nothing else of a request is read.
 */
import { createServer } from 'node:net'

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

/** As the inventory of packages is answered: nested first, by the name of the agent last. */
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

function answer(node: number): Buffer {
  const items = Array.from({ length: ROWS }, (_, at) => row(node, at))
  const body = Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems: ROWS } }))
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

const answers = Array.from({ length: Number(many) }, (_, node) => answer(node))
const server = createServer({ noDelay: true }, (socket) => {
  let head = ''
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    head += chunk.toString('latin1')
    if (!head.endsWith('\r\n\r\n')) return
    const node = Number(/^GET \/(\d+)/.exec(head)?.[1] ?? 0)
    head = ''
    socket.write(answers[node] ?? '')
  })
})
server.listen(Number(port), '127.0.0.1')
