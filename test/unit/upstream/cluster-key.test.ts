/** Release 5.0 shows the key of the cluster to accounts that may change the configuration: so does the edge to its callers. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'
import { ofRelease5 } from './release-5-node.ts'
import { rows } from './v4-node.ts'

const KEY = 'c98b62a9b6169ac5f67dae55ae4a9088'
const CERTIFICATE = 'etc/certs/remoted-key.pem'
const local = { name: 'wazuh', node_type: 'master', key: KEY }
const file = `<ossec_config><remote><key>${CERTIFICATE}</key></remote><cluster><key>${KEY}</key></cluster></ossec_config>`
const readsSecrets = ['cluster:read', 'manager:read', 'secrets:read']
const mayChange = [...readsSecrets, 'files:write']

async function start(t: Test, release: string | (() => string), written = file) {
  const node = await fakeNode(
    t,
    ofRelease5((request, response) => {
      const { url = '' } = request
      if (url.includes('raw=true')) response.writeHead(200, { 'content-type': 'application/xml' }).end(written)
      else if (url.includes('/com/cluster')) rows([{ cluster: local }])(request, response)
      else if (url.startsWith('/cluster/local/config')) rows([local])(request, response)
      else rows([{ remote: [{ https: { key: CERTIFICATE } }], cluster: local }])(request, response)
    }, release),
  )
  const cluster = clusterOf(t, node.url, { layout: 'v4', discover: true })
  await cluster.start()
  await cluster.contacts.probe('master')
  const handler = handlerOf(cluster)
  return async (path: string, permissions: readonly string[], query: Record<string, string> = {}) => {
    const endpoint = v4Contract.find((record) => record.method === 'GET' && record.path === path)
    const request = {
      ...edgeRequest('GET', '/agents'),
      endpoint,
      params: { node_id: 'master', component: 'com', configuration: 'cluster' },
      query,
    }
    const response = await handler({ ...request, caller: { name: 'ann', permissions } } as EdgeRead)
    if (response.kind === 'file') return text(Readable.from(response.stream))
    return response.body.toString()
  }
}

for (const [path, query] of [
  ['/cluster/local/config', {}],
  ['/cluster/:node_id/configuration', {}],
  ['/cluster/:node_id/configuration', { raw: 'true' }],
] as const) {
  t.test(`${path} ${JSON.stringify(query)}`, async (t) => {
    const read = await start(t, '5.0.0')
    const masked = await read(path, readsSecrets, query)
    t.notMatch(masked, KEY)
    t.ok(masked.includes('*****'))
    t.equal(masked.includes(CERTIFICATE), path !== '/cluster/local/config')
    t.match(await read(path, mayChange, query), KEY)
    const earlier = await start(t, '4.14.7')
    t.match(await earlier(path, readsSecrets, query), KEY)
  })
}

t.test('the active configuration of the cluster', async (t) => {
  const read = await start(t, '5.0.0')
  const path = '/cluster/:node_id/configuration/:component/:configuration'
  const masked = await read(path, readsSecrets)
  t.notMatch(masked, KEY)
  t.ok(masked.includes('*****'))
  t.match(await read(path, mayChange), KEY)
})

t.test('a file with spaces in its tags, and a comment beside the key', async (t) => {
  const written = `<ossec_config><cluster ><key ><!-- of 2026 -->${KEY}</key ></cluster ></ossec_config>`
  const read = await start(t, '5.0.0', written)
  t.notMatch(await read('/cluster/:node_id/configuration', readsSecrets, { raw: 'true' }), KEY)
})

for (const [name, section] of [
  ['the end of the section in a comment', `<cluster><!-- </cluster> --><key>${KEY}</key></cluster>`],
  ['the end of the key in a comment', `<cluster><key><!-- </key> -->${KEY}</key></cluster>`],
  ['a key in a comment', `<cluster><!-- <key>${KEY}</key> --></cluster>`],
  ['a section in a comment', `<!-- <cluster><key>${KEY}</key></cluster> -->`],
  ['two sections', `<cluster><key>${KEY}</key></cluster><cluster name="b"><key>${KEY}</key></cluster>`],
  ['an empty key before it', `<cluster><key/><key>${KEY}</key></cluster>`],
  ['no end of the key', `<cluster><key>${KEY}</cluster>`],
] as const) {
  t.test(name, async (t) => {
    const read = await start(t, '5.0.0', `<a>${section}</a><remote><key>${CERTIFICATE}</key></remote>`)
    const masked = await read('/cluster/:node_id/configuration', readsSecrets, { raw: 'true' })
    t.notMatch(masked, KEY)
    t.equal(masked.includes(CERTIFICATE), !name.startsWith('no end'), 'what comes behind it')
  })
}

for (const query of [{}, { raw: 'true' }] as const) {
  t.test(`a node that was upgraded since its release was read, ${JSON.stringify(query)}`, async (t) => {
    let release = '4.14.7'
    const read = await start(t, () => release)
    release = '5.0.0'
    const masked = await read('/cluster/:node_id/configuration', readsSecrets, query)
    t.notMatch(masked, KEY)
    t.ok(masked.includes(CERTIFICATE))
  })
}

t.test('before the release is known, the key is masked', async (t) => {
  const node = await fakeNode(t, ofRelease5(rows([local])))
  const cluster = clusterOf(t, node.url, { layout: 'v4' })
  t.equal(cluster.view.releaseOf('master'), undefined)
  const response = await handlerOf(cluster)(
    edgeRequest('GET', '/cluster/config', { caller: { name: 'ann', permissions: readsSecrets } }),
  )
  t.notMatch(response.kind === 'envelope' && response.body.toString(), KEY)
})

t.test('two sections of the cluster', async (t) => {
  const node = await fakeNode(t, ofRelease5(rows([{ cluster: [{ name: 'a' }, local] }])))
  const cluster = clusterOf(t, node.url, { layout: 'v4' })
  await cluster.contacts.probe('master')
  const response = await handlerOf(cluster)(
    edgeRequest('GET', '/manager/configuration', { caller: { name: 'ann', permissions: readsSecrets } }),
  )
  t.notMatch(response.kind === 'envelope' && response.body.toString(), KEY)
})

for (const [path, query] of [
  ['/manager/configuration', { section: 'cluster' }],
  ['/manager/files', { path: 'etc/ossec.conf' }],
] as const) {
  t.test(`v3 clients, ${path}`, async (t) => {
    const node = await fakeNode(
      t,
      ofRelease5((request, response) => {
        if (!request.url?.includes('raw=true')) rows([{ cluster: local }])(request, response)
        else response.writeHead(200, { 'content-type': 'application/xml' }).end(file)
      }),
    )
    const cluster = clusterOf(t, node.url, { layout: 'v4' })
    await cluster.contacts.probe('master')
    const read = async (permissions: readonly string[]) => {
      const response = await handlerOf(cluster)(
        edgeRequest('GET', path, { query, caller: { name: 'ann', permissions } }),
      )
      return response.kind === 'envelope' ? response.body.toString() : ''
    }
    t.match(await read(readsSecrets), /\*{5}/)
    t.notMatch(await read(readsSecrets), KEY)
    t.match(await read(mayChange), KEY)
  })
}

t.test('v3 clients get it masked too', async (t) => {
  const node = await fakeNode(t, ofRelease5(rows([local])))
  const cluster = clusterOf(t, node.url, { layout: 'v4', discover: true })
  await cluster.start()
  const response = await handlerOf(cluster)(
    edgeRequest('GET', '/cluster/config', { caller: { name: 'ann', permissions: readsSecrets } }),
  )
  t.ok(response.kind === 'envelope' && response.body.toString().includes('"key":"*****"'))
})
