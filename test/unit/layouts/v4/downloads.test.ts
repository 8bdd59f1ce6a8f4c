/** A file of the ruleset is streamed from a node with the v4 layout. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded } from './recorded.ts'

t.test('a download is the stream of the node, as text/xml', async (t) => {
  const request = edgeRequest('GET', '/rules/files', { query: { download: 'local_rules.xml', limit: '1' } })
  const { calls, response } = await ask(request, ({ expect }) => {
    t.equal(expect, 'stream')
    return { status: 200, type: 'application/xml', body: Readable.from([Buffer.from('<group/>')]) }
  })
  t.same(calls, ['GET /rules/files/local_rules.xml?raw=true'])
  if (response.kind !== 'file') throw new Error('the response is no stream')
  t.equal(response.type, 'text/xml')
  t.equal(await text(response.stream), '<group/>')
})

t.test('a file that does not exist is error 700 with status 404', async (t) => {
  const request = edgeRequest('GET', '/decoders/files', { query: { download: 'nope.xml' } })
  const { status, json } = await ask(request, () => recorded('GET /decoders/files/nope.xml?raw=true'))
  t.equal(status, 404)
  t.same(json, { error: 700, message: 'File not found: nope.xml' })
})

t.test('a name that no file of the node can have is error 700 too', async (t) => {
  const request = edgeRequest('GET', '/rules/files', { query: { download: 'noext' } })
  const { status, json } = await ask(request, () => recorded('GET /rules/files/..%2f..%2fossec.conf?raw=true'))
  t.equal(status, 404)
  t.same(json, { error: 700, message: 'File not found: noext' })
})

t.test('without a download, the files are listed', async (t) => {
  const request = edgeRequest('GET', '/rules/files', { query: { path: 'etc/rules' } })
  const { calls, data } = await ask(request, () => recorded('GET /rules/files?relative_dirname=etc/rules'))
  t.same(calls, ['GET /rules/files?relative_dirname=etc/rules'])
  t.same(data, { items: [{ file: 'local_rules.xml', path: 'etc/rules', status: 'enabled' }], totalItems: 1 })
})
