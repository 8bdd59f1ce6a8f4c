/** A server without the certificate of the node receives no byte of a request. */
import t from 'tap'
import type { FailureReason } from '../../../src/core/node-faults.ts'
import type { ClusterOptions } from '../../../src/upstream/index.ts'
import { authority, hasOpenssl } from './certificates.ts'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'

const skip = (await hasOpenssl()) ? false : 'openssl is not installed'

t.test('certificates', { skip }, async (t) => {
  const ours = await authority(t, 'our authority')
  const other = await authority(t, 'another authority')
  const good = await ours.sign('IP:127.0.0.1,DNS:localhost')

  t.test('a node with a valid certificate is called', async (t) => {
    const node = await fakeNode(t, envelope, good)
    const cluster = clusterOf(t, node.url, { tls: { ca: ours.cert } })
    t.match(await cluster.call(get()), { ok: true })
    t.match(await cluster.call(put()), { ok: true })
    t.equal(node.seen.length, 2)
  })

  const refused: Record<
    string,
    { pair: typeof good; tls: ClusterOptions['tls']; reason: FailureReason; about?: RegExp }
  > = {
    'an unknown authority': {
      pair: await other.sign('IP:127.0.0.1'),
      tls: { ca: ours.cert },
      reason: 'noConnection',
      about: /UNABLE_TO/,
    },
    expired: { pair: await ours.sign('IP:127.0.0.1', -1), tls: { ca: ours.cert }, reason: 'certificateExpired' },
    'another host': {
      pair: await ours.sign('DNS:elsewhere'),
      tls: { ca: ours.cert },
      reason: 'certificateOfOtherHost',
    },
    'not the configured servername': {
      pair: good,
      tls: { ca: ours.cert, servername: 'master.internal' },
      reason: 'certificateOfOtherHost',
    },
    'an authority that the system does not know': { pair: good, tls: {}, reason: 'noConnection', about: /UNABLE_TO/ },
  }
  for (const [name, { pair, tls, ...failure }] of Object.entries(refused)) {
    t.test(`${name}: nothing is sent`, async (t) => {
      const node = await fakeNode(t, envelope, pair)
      const cluster = clusterOf(t, node.url, { ...(tls && { tls }) })
      const expected = { ok: false, fault: 'unreachable', sent: false, ...failure }
      t.match(await cluster.call(get()), expected)
      t.match(await cluster.call(put()), expected)
      t.equal(node.seen.length, 0)
    })
  }

  t.test('servername replaces the address in the verification', async (t) => {
    const node = await fakeNode(t, envelope, await ours.sign('DNS:master.internal'))
    const cluster = clusterOf(t, node.url, { tls: { ca: ours.cert, servername: 'master.internal' } })
    t.match(await cluster.call(get()), { ok: true })
  })

  t.test('a node can require a client certificate', async (t) => {
    const node = await fakeNode(t, envelope, { ...good, ca: ours.cert, requestCert: true, rejectUnauthorized: true })
    const client = await ours.sign('DNS:edge')
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert } }).call(put()), { ok: false, fault: 'unreachable' })
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert, ...client } }).call(put()), { ok: true })
    t.equal(node.seen.length, 1)
  })

  t.test('new authorities are used without a failed call', async (t) => {
    const next = await authority(t, 'our next authority')
    const before = await fakeNode(t, envelope, good)
    const after = await fakeNode(t, envelope, await next.sign('IP:127.0.0.1'))
    const cluster = clusterOf(t, before.url, { tls: { ca: ours.cert } })
    const calls: Promise<{ ok: boolean }>[] = []
    for (let i = 0; i < 40; i += 1) {
      if (i === 10) cluster.prepare({ tls: { ca: ours.cert + next.cert } })()
      if (i === 30) cluster.prepare({ nodes: [{ name: 'master', type: 'master', url: after.url }] })()
      calls.push(cluster.call(i % 4 === 0 ? put() : get()))
      await new Promise((done) => setTimeout(done, 2))
    }
    for (const { ok } of await Promise.all(calls)) t.ok(ok)
    t.ok(after.seen.length >= 10)
    t.throws(() => cluster.prepare({ tls: { ca: 'no PEM' } }), 'invalid PEM is rejected before it is used')
    t.match(await cluster.call(put()), { ok: true })
  })

  t.test('NODE_TLS_REJECT_UNAUTHORIZED does not disable the verification', async (t) => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    t.teardown(() => Reflect.deleteProperty(process.env, 'NODE_TLS_REJECT_UNAUTHORIZED'))
    const node = await fakeNode(t, envelope, await other.sign('IP:127.0.0.1'))
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert } }).call(get()), { ok: false, sent: false })
    t.equal(node.seen.length, 0)
  })
})
