/** Which certificates of the edge commands accept, and what they say about the others. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type ConnectionOptions, withOperations } from '../../../packages/tools/src/commands/edge-client.ts'
import { authority } from '../upstream/certificates.ts'

const ca = await authority(t, 'test')

async function serve(t: Test, days: number) {
  const pair = await ca.sign('IP:127.0.0.1', days)
  const seen: string[] = []
  const server = createServer(pair, (request, response) => {
    seen.push(String(request.headers.authorization))
    response.end('{"problems":[]}')
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const folder = t.testdir({})
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'a-token')
  const read = (options: Partial<ConnectionOptions>, host = '127.0.0.1') =>
    withOperations({ operations: `https://${host}:${port}`, tokenFile, ...options }, (operations) =>
      operations.read('/api/problems'),
    )
  const caFile = join(folder, 'ca')
  writeFileSync(caFile, ca.cert)
  return { read, seen, caFile, fingerprint: new X509Certificate(pair.cert).fingerprint256 }
}

t.test('an expired certificate is named with its remedies, and accepted only if the operator says so', async (t) => {
  const { read, seen, caFile, fingerprint } = await serve(t, -1)
  await t.rejects(read({ ca: caFile }), { message: /certificate has expired; renew .*--fingerprint.*--insecure/ })
  await t.rejects(read({ fingerprint: fingerprint.replace(/^../, 'ZZ') }), { message: /SHA-256/ })
  const other = fingerprint.replace(/^../, fingerprint.startsWith('00') ? '01' : '00')
  await t.rejects(read({ fingerprint: other }), { message: /another fingerprint/ })
  t.strictSame(seen, [], 'no credentials were sent')
  await read({ fingerprint })
  await read({ fingerprint: fingerprint.replaceAll(':', '').toLowerCase() })
  await read({ insecure: true })
  await t.rejects(read({ insecure: true, fingerprint }), { message: /only one/ })
  t.equal(seen.length, 3)
})

t.test('--insecure is for loopback addresses only', async (t) => {
  const { read, seen } = await serve(t, 2)
  const others = Object.values(networkInterfaces()).flatMap((all = []) => all)
  const address = others.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '192.0.2.1'
  await t.rejects(read({ insecure: true }, address), { message: /loopback addresses, not for/ })
  await t.rejects(read({}), { message: /certificate.*; name the CA/ })
  t.strictSame(seen, [])
})
