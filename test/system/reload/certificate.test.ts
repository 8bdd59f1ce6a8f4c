import { connect } from 'node:tls'
import t from 'tap'
import { reloadable } from './edge.ts'

const fixture = (name: string) => new URL(`../../support/certificates/${name}`, import.meta.url).pathname
const pair = (name: string) => ({ cert: fixture(`${name}.crt`), key: fixture(`${name}.key`) })

/** Returns the common name of the certificate that a new connection receives. */
function nameAt(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false }, () => {
      const { subject } = socket.getPeerCertificate()
      socket.destroy()
      resolve(String(subject.CN))
    })
    socket.on('error', reject)
  })
}

t.test('both listeners use the certificates of a changed path without a restart', async (t) => {
  const tls = pair('first')
  const { edge, change, logged } = await reloadable(t, { listen: { tls }, operations: { tls } })
  const names = () => Promise.all([edge.url, edge.operationsUrl].map(nameAt))
  t.strictSame(await names(), ['first.edge.test', 'first.edge.test'])
  await change({ 'listen.tls': pair('second'), 'operations.tls': pair('second') })
  t.strictSame(await names(), ['second.edge.test', 'second.edge.test'])
  await change({ 'listen.tls': { cert: fixture('first.crt'), key: fixture('second.key') } })
  t.match(logged('configuration not reloaded, the last valid one stays in use'), [{ fault: /first\.crt/ }])
  t.strictSame(await names(), ['second.edge.test', 'second.edge.test'])
  await change({ 'listen.tls': 'off', 'operations.tls': pair('first') })
  t.match(logged('changed settings take effect after a restart only'), [
    { settings: ['listen.tls.cert', 'listen.tls.key'] },
  ])
  t.strictSame(await names(), ['second.edge.test', 'first.edge.test'])
})
