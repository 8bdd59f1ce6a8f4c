import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect, type SecureVersion } from 'node:tls'
import t from 'tap'
import { createListener } from '../../../src/listener/listener.ts'
import { certificateNameAt } from '../../support/certificate-name.ts'
import { eventually } from '../../support/eventually.ts'
import { SETTINGS, serve } from './raw.ts'

const fixture = (name: string) => `${import.meta.dirname}/../../support/certificates/${name}`

/** A separate folder with a certificate and key that the test can change. */
function pairIn(folder: string): { cert: string; key: string; use(name: string): void; break(): void } {
  const cert = `${folder}/tls.crt`
  const key = `${folder}/tls.key`
  const use = (name: string) => {
    copyFileSync(fixture(`${name}.crt`), cert)
    copyFileSync(fixture(`${name}.key`), key)
  }
  use('first')
  return { cert, key, use, break: () => writeFileSync(cert, 'no certificate') }
}

function nameAt(port: number, version: SecureVersion = 'TLSv1.3'): Promise<string> {
  return certificateNameAt(port, { minVersion: 'TLSv1', maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' })
}

function get(port: number, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: '127.0.0.1', path: '/x', agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode))
    })
    call.on('error', reject)
    call.end()
  })
}

t.test('TLS 1.2 and 1.3 are accepted, older versions are not', async (t) => {
  const { port } = await serve(t, { tls: pairIn(t.testdir()) })
  t.equal(await nameAt(port, 'TLSv1.3'), 'first.edge.test')
  t.equal(await nameAt(port, 'TLSv1.2'), 'first.edge.test')
  await t.rejects(nameAt(port, 'TLSv1.1'))
})

t.test('a new certificate is used without a restart, and open connections stay', async (t) => {
  const pair = pairIn(t.testdir())
  const { port, listener, log } = await serve(t, { tls: pair })
  const reload = async () => (await listener.prepareReload({ ...SETTINGS, tls: pair }))()
  const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false })
  t.teardown(() => agent.destroy())
  let failures = 0
  let served = 0
  let running = true
  const load = Array.from({ length: 8 }, async () => {
    while (running) {
      const status = await get(port, agent).catch(() => undefined)
      if (status === 200) served++
      else failures++
      await wait(5)
    }
  })
  await eventually(() => served > 8)
  for (const name of ['second', 'first']) {
    pair.use(name)
    await reload()
    t.equal(await nameAt(port), `${name}.edge.test`)
  }
  await reload()
  t.strictSame(log, ['certificate changed', 'certificate changed'], 'the same files are no change')
  const before = served
  await eventually(() => served > before + 8)
  running = false
  await Promise.all(load)
  t.equal(failures, 0)
})

t.test('an unusable certificate is refused, and the previous one stays in use', async (t) => {
  const pair = pairIn(t.testdir())
  const { port, listener } = await serve(t, { tls: pair })
  const prepare = () => listener.prepareReload({ ...SETTINGS, tls: pair })
  pair.break()
  await t.rejects(prepare(), { message: pair.cert }, 'the message names the file')
  t.equal(await nameAt(port), 'first.edge.test')
  copyFileSync(fixture('second.crt'), pair.cert)
  await t.rejects(prepare(), { message: /cannot be used: .*key/ }, 'a key of another certificate')
  t.equal(await nameAt(port), 'first.edge.test')
  pair.use('second')
  const apply = await prepare()
  apply()
  t.equal(await nameAt(port), 'second.edge.test')
})

t.test('an unusable certificate at start throws an error with the names of its files', async (t) => {
  const pair = pairIn(t.testdir())
  pair.break()
  const limits = { headers: 1, url: 1, pipelined: 1 }
  const timeouts = { headers: 1, body: 1, write: 1, expect: 1, idle: 1 }
  const log = { info: () => undefined, warn: () => undefined }
  const made = createListener({ tls: pair, limits, timeouts, hosts: [], cors: false, log })
  await t.rejects(made, { message: pair.cert })
})

t.test('plain HTTP on a TLS port is closed', async (t) => {
  const { port } = await serve(t, { tls: pairIn(t.testdir()) })
  const { exchange } = await import('./raw.ts')
  const { text, ended } = await exchange(port, 'GET / HTTP/1.1\r\nHost: edge\r\n\r\n')
  t.notMatch(text, 'HTTP/1.1 200')
  t.ok(ended)
})

t.test('a connection whose handshake takes too long is closed, and gets no response', async (t) => {
  const rejected: unknown[] = []
  const { port, listener } = await serve(t, {
    tls: pairIn(t.testdir()),
    timeouts: { headers: 50, body: 30_000, write: 30_000, expect: 10_000, idle: 72_000 },
    onReject: (request) => rejected.push(request),
  })
  const tooLate = Promise.race(listener.servers.map((server) => once(server, 'tlsClientError')))
  const raw = connectPlain(port, '127.0.0.1')
  await once(raw, 'connect')
  t.match(await tooLate, [{ code: 'ERR_TLS_HANDSHAKE_TIMEOUT' }])
  let text = ''
  const socket = connect({ socket: raw, rejectUnauthorized: false }).on('data', (chunk) => (text += chunk))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('close', resolve))
  t.equal(text, '')
  t.strictSame(rejected, [])
})
