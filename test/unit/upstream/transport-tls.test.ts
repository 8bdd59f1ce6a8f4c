/** Row U03 of the attacks: who cannot prove to be the node does not see one byte of a request. */
import t from 'tap'
import type { ClusterOptions } from '../../../src/upstream/index.ts'
import { authority, hasOpenssl } from './certificates.ts'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'

const skip = (await hasOpenssl()) ? false : 'openssl is not installed'

t.test('certificates', { skip }, async (t) => {
  const ours = await authority(t, 'our authority')
  const strange = await authority(t, 'another authority')
  const good = await ours.sign('IP:127.0.0.1,DNS:localhost')

  t.test('the node that the settings mean is asked', async (t) => {
    const node = await fakeNode(t, envelope, good)
    const cluster = clusterOf(t, node.url, { tls: { ca: ours.cert } })
    t.match(await cluster.call(get()), { ok: true })
    t.match(await cluster.call(put()), { ok: true })
    t.equal(node.seen.length, 2)
  })

  const refused: Record<string, { pair: typeof good; tls: ClusterOptions['tls']; detail: RegExp }> = {
    'no authority of ours': { pair: await strange.sign('IP:127.0.0.1'), tls: { ca: ours.cert }, detail: /UNABLE_TO/ },
    expired: { pair: await ours.sign('IP:127.0.0.1', -1), tls: { ca: ours.cert }, detail: /certificate expired/ },
    'another host': { pair: await ours.sign('DNS:elsewhere'), tls: { ca: ours.cert }, detail: /of another host/ },
    'not the name that is pinned': {
      pair: good,
      tls: { ca: ours.cert, servername: 'master.internal' },
      detail: /of another host/,
    },
    'the system knows no such authority': { pair: good, tls: {}, detail: /UNABLE_TO/ },
  }
  for (const [name, { pair, tls, detail }] of Object.entries(refused)) {
    t.test(`${name}: nothing is sent`, async (t) => {
      const node = await fakeNode(t, envelope, pair)
      const cluster = clusterOf(t, node.url, { ...(tls && { tls }) })
      const expected = { ok: false, fault: 'unreachable', sent: false, detail }
      t.match(await cluster.call(get()), expected)
      t.match(await cluster.call(put()), expected)
      t.equal(node.seen.length, 0)
    })
  }

  t.test('a pinned name is looked for instead of the address', async (t) => {
    const node = await fakeNode(t, envelope, await ours.sign('DNS:master.internal'))
    const cluster = clusterOf(t, node.url, { tls: { ca: ours.cert, servername: 'master.internal' } })
    t.match(await cluster.call(get()), { ok: true })
  })

  t.test('a node may ask who the edge is', async (t) => {
    const node = await fakeNode(t, envelope, { ...good, ca: ours.cert, requestCert: true, rejectUnauthorized: true })
    const client = await ours.sign('DNS:edge')
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert } }).call(put()), { ok: false, fault: 'unreachable' })
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert, ...client } }).call(put()), { ok: true })
    t.equal(node.seen.length, 1)
  })

  t.test('new authorities take over without a failed call', async (t) => {
    const next = await authority(t, 'our next authority')
    const before = await fakeNode(t, envelope, good)
    const after = await fakeNode(t, envelope, await next.sign('IP:127.0.0.1'))
    const cluster = clusterOf(t, before.url, { tls: { ca: ours.cert } })
    const calls: Promise<{ ok: boolean }>[] = []
    for (let i = 0; i < 40; i += 1) {
      if (i === 10) cluster.setTls({ ca: ours.cert + next.cert })
      if (i === 30) cluster.setNodes([{ name: 'master', type: 'master', url: after.url }])
      calls.push(cluster.call(i % 4 === 0 ? put() : get()))
      await new Promise((done) => setTimeout(done, 2))
    }
    for (const { ok } of await Promise.all(calls)) t.ok(ok)
    t.ok(after.seen.length >= 10)
    t.throws(() => cluster.setTls({ ca: 'no PEM' }), 'and what is no certificate is refused before it is used')
    t.match(await cluster.call(put()), { ok: true })
  })

  t.test('no environment variable switches it off', async (t) => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    t.teardown(() => Reflect.deleteProperty(process.env, 'NODE_TLS_REJECT_UNAUTHORIZED'))
    const node = await fakeNode(t, envelope, await strange.sign('IP:127.0.0.1'))
    t.match(await clusterOf(t, node.url, { tls: { ca: ours.cert } }).call(get()), { ok: false, sent: false })
    t.equal(node.seen.length, 0)
  })
})
