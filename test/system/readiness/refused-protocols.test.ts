/** HAProxy with the shipped configuration, and nginx with that of docs/access.md, pass on neither CONNECT nor upgrades. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { startHaproxy } from '../../faults/suite/haproxy.ts'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'
import { sendRaw } from '../../support/raw.ts'

const nginx = installed({ variable: 'NGINX', names: ['nginx'], package: 'nginx-light' })
const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'
const upgrade = (to: string) => `GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n\r\n`

/** A server that would accept both. */
const seen: IncomingMessage[] = []
const server = createServer((request, response) => {
  seen.push(request)
  response.end('{}')
})
const accept = (
  request: IncomingMessage,
  socket: { end(text: string): void; on(name: 'error', f: () => void): void },
) => {
  seen.push(request)
  socket.on('error', () => undefined)
  socket.end('HTTP/1.1 200 OK\r\n\r\n')
}
server.on('connect', accept)
server.on('upgrade', accept)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo
const wasPassedOn = () => seen.some(({ method, headers }) => method === 'CONNECT' || headers.upgrade !== undefined)

t.test('HAProxy refuses them', async (t) => {
  const balancer = await startHaproxy([{ port, operationsPort: port }])
  t.teardown(() => balancer.close())
  t.equal((await fetch(`${balancer.url}/served`)).status, 200)
  t.equal((await sendRaw(balancer.url, CONNECT)).status, 405)
  for (const to of ['websocket', 'h2c, websocket', 'anything'])
    t.equal((await sendRaw(balancer.url, upgrade(to))).status, 400, to)
  t.equal((await sendRaw(balancer.url, upgrade('h2c'))).status, 200, 'without the offer')
  t.notOk(wasPassedOn())
})

t.test('nginx refuses CONNECT, and removes the header for an upgrade', async (t) => {
  const [, block = ''] = /```nginx\n(location .*?)```/s.exec(readFileSync('docs/access.md', 'utf8')) ?? []
  t.match(block, 'proxy_pass http://127.0.0.1:55001;')
  const folder = t.testdir()
  const own = await freePort()
  const file = join(folder, 'nginx.conf')
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/pid; error_log ${folder}/error.log; events {}
    http { access_log off; ${temporary} server { listen 127.0.0.1:${own};
    ${block.replace('127.0.0.1:55001', `127.0.0.1:${port}`)} } }`,
  )
  const child = spawn(nginx, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${own}`
  await eventually(() =>
    fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    ),
  )
  t.ok([400, 405].includes((await sendRaw(url, CONNECT)).status))
  for (const to of ['websocket', 'h2c']) t.equal((await sendRaw(url, upgrade(to))).status, 200)
  t.notOk(wasPassedOn())
})
