/** v4 layout: files, which the v3 layout reads and writes by their paths. */
import t from 'tap'
import { ask, items, type Reply } from './recorded-node.ts'

const RULES = 'etc/rules/local_rules.xml'
const XML = '<group name="local,"></group>'
const of = (path: string, more: Readonly<Record<string, string>> = {}) => ({ query: { path, ...more } })
const upload = (text: string) => ({
  body: { kind: 'upload', type: 'application/xml', bytes: Buffer.from(text) } as const,
})
const worker = { params: { node_id: 'worker-1' } }

/** The list of files with this name. */
function listed(kind: string, filename: string, ...folders: readonly string[]): Readonly<Record<string, Reply>> {
  const files = folders.map((relative_dirname) => ({ filename, relative_dirname, status: 'enabled' }))
  return { [`GET /${kind}/files?filename=${filename}`]: { body: items(files) } }
}

for (const [kind, path, start] of [
  ['rules', RULES, '<!-- Local rules -->\n\n<!-- Modify'],
  ['rules', 'ruleset/rules/0095-sshd_rules.xml', '<!--\n  -  Copyright'],
  ['decoders', 'etc/decoders/local_decoder.xml', '<!-- Local Decoders -->'],
  ['lists', 'etc/lists/audit-keys', 'audit-wazuh-w:write\naudit-wazuh-r:read\n'],
  ['lists', 'etc/lists/amazon/aws-eventnames', 'TEMPLATE:# AWS Cloudtrail'],
] as const) {
  t.test(`the text of ${path} is the text of the node`, async (t) => {
    const [folder = '', name = ''] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)]
    const { calls, envelope } = await ask('GET', '/manager/files', { ...of(path), replies: listed(kind, name, folder) })
    t.strictSame(calls, [`GET /${kind}/files?filename=${name}`, `GET /${kind}/files/${name}?raw=true`])
    t.equal(envelope.error, 0)
    t.ok(String(envelope.data).startsWith(start))
  })
}

t.test('the main configuration is that of the node', async (t) => {
  const master = await ask('GET', '/manager/files', of('etc/ossec.conf'))
  const other = await ask('GET', '/cluster/:node_id/files', { ...worker, ...of('etc/ossec.conf') })
  t.strictSame(
    [...master.calls, ...other.calls],
    ['GET /manager/configuration?raw=true', 'GET /cluster/worker-1/configuration?raw=true'],
  )
  t.match(other.envelope, { error: 0, data: /<ossec_config>/ })
})

t.test('a file of the same name in another folder is not the file', async (t) => {
  const path = 'etc/rules/0095-sshd_rules.xml'
  const { status, envelope } = await ask('GET', '/manager/files', {
    ...of(path),
    replies: listed('rules', '0095-sshd_rules.xml', 'ruleset/rules'),
  })
  t.strictSame({ status, ...envelope }, { status: 200, error: 1005, message: 'Error reading file' })
})

t.test('a missing file cannot be read', async (t) => {
  const { envelope } = await ask('GET', '/manager/files', {
    ...of('etc/rules/nope.xml'),
    replies: listed('rules', 'nope.xml'),
  })
  t.strictSame(envelope, { error: 1005, message: 'Error reading file' })
})

t.test('a file that disappears between two calls is a missing file', async (t) => {
  const { envelope } = await ask('GET', '/manager/files', {
    ...of('etc/rules/nope.xml'),
    replies: listed('rules', 'nope.xml', 'etc/rules'),
  })
  t.strictSame(envelope, { error: 1005, message: 'Error reading file' })
})

t.test('a name that a node does not accept is a missing file', async (t) => {
  const refused = { title: 'Bad Request', detail: "'a:b.xml' is not a 'names'" }
  const { envelope } = await ask('GET', '/manager/files', {
    ...of('etc/rules/a:b.xml'),
    replies: {
      'GET /rules/files?filename=a:b.xml': { status: 400, type: 'application/problem+json', body: refused },
    },
  })
  t.strictSame(envelope, { error: 1005, message: 'Error reading file' })
})

t.test('of files with one name in several folders none is returned', async (t) => {
  const asked = ask('GET', '/manager/files', {
    ...of(RULES),
    replies: listed('rules', 'local_rules.xml', 'etc/rules', 'ruleset/rules'),
  })
  await t.rejects(asked, { code: 938, message: /etc\/rules, ruleset\/rules/ })
})

t.test('the ruleset of a worker cannot be read, written or deleted, and nothing is sent', async (t) => {
  for (const method of ['GET', 'POST', 'DELETE']) {
    const asked = ask(method, '/cluster/:node_id/files', { ...worker, ...of(RULES), ...upload(XML) })
    await t.rejects(asked, { code: 938, message: /worker-1 is a worker/ }, method)
  }
})

t.test('a valid file passes its validation', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/files', {
    ...of(RULES, { validation: 'true' }),
    replies: listed('rules', 'local_rules.xml', 'etc/rules'),
  })
  t.equal(calls.at(-1), 'GET /rules/files/local_rules.xml')
  t.match(envelope, { error: 0, data: /Local rules/ })
})

for (const [path, kind, error, message] of [
  ['etc/rules/bad.xml', 'rules', 1113, 'XML syntax error'],
  ['etc/lists/bad', 'lists', 1800, 'Bad format in CDB list'],
] as const) {
  t.test(`an invalid file does not pass its validation: ${path}`, async (t) => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    const { envelope } = await ask('GET', '/manager/files', {
      ...of(path, { validation: 'true' }),
      replies: {
        ...listed(kind, name, `etc/${kind}`),
        [`GET /${kind}/files/${name}?raw=true`]: { type: 'text/plain', body: 'bad' },
        [`GET /${kind}/files/${name}`]: { body: items([], [[name, 1413, 'Error reading rules file']]) },
      },
    })
    t.strictSame(envelope, { error, message })
  })
}

for (const [path, call] of [
  ['etc/rules/rec_rules.xml', 'PUT /rules/files/rec_rules.xml'],
  ['etc/lists/new', 'PUT /lists/files/new'],
  ['etc/decoders/new.xml', 'PUT /decoders/files/new.xml'],
] as const) {
  t.test(`${path} is written as it was sent`, async (t) => {
    const replies = { [call]: { body: items([path]) } }
    const { calls, sent, envelope } = await ask('POST', '/manager/files', { ...of(path), ...upload(XML), replies })
    t.strictSame(calls, [call])
    t.strictSame(sent[0]?.body, { type: 'application/octet-stream', bytes: Buffer.from(XML) })
    t.strictSame(envelope, { error: 0, data: 'File updated successfully' })
  })
}

t.test('an existing file is replaced only if the client asks for it', async (t) => {
  const path = 'etc/lists/rec'
  const replies = {
    'PUT /lists/files/rec': { body: items([], [[path, 1905, 'File could not be updated, it already exists']]) },
  }
  const kept = await ask('POST', '/manager/files', { ...of(path, { overwrite: 'false' }), ...upload('a:1\n'), replies })
  t.strictSame(kept.envelope, { error: 1905, message: 'File was not updated because it already exists' })
  const replaced = await ask('POST', '/manager/files', { ...of(path, { overwrite: 'true' }), ...upload('a:1\n') })
  t.strictSame(replaced.calls, ['PUT /lists/files/rec?overwrite=true'])
  t.match(replaced.envelope, { error: 0 })
})

t.test('the main configuration is replaced only if the client asks for it', async (t) => {
  const path = 'etc/ossec.conf'
  const kept = await ask('POST', '/manager/files', { ...of(path), ...upload(XML) })
  t.strictSame(kept.calls, [])
  t.match({ status: kept.status, ...kept.envelope }, { status: 200, error: 1905 })
  const call = 'PUT /cluster/worker-1/configuration'
  const { calls, envelope } = await ask('POST', '/cluster/:node_id/files', {
    ...worker,
    ...of(path, { overwrite: 'true' }),
    ...upload(XML),
    replies: { [call]: { body: items(['worker-1']) } },
  })
  t.strictSame(calls, [call])
  t.match(envelope, { error: 0, data: 'File updated successfully' })
})

for (const [failed, status, error] of [
  [[1113, 'XML syntax error'], 400, 703],
  [[1800, 'Bad format in CDB list {path}'], 400, 705],
  [[1908, 'Error validating configuration: (1235)'], 200, 1908],
] as const) {
  t.test(`contents that the node refuses with ${failed[0]} are the error ${error}`, async (t) => {
    const replies = { 'PUT /manager/configuration': { body: items([], [['master', ...failed]]) } }
    const answer = await ask('POST', '/manager/files', {
      ...of('etc/ossec.conf', { overwrite: 'true' }),
      ...upload(XML),
      replies,
    })
    t.match({ status: answer.status, ...answer.envelope }, { status, error })
    t.notMatch(answer.envelope.message, /1235|path/)
  })
}

t.test('a write without a time limit has none on the node either', async (t) => {
  const call = 'PUT /manager/configuration?wait_for_complete=true'
  const { calls } = await ask('POST', '/manager/files', {
    ...of('etc/ossec.conf', { overwrite: 'true' }),
    ...upload(XML),
    waitForComplete: true,
    replies: { [call]: { body: items(['master']) } },
  })
  t.strictSame(calls, [call])
})

t.test('files in folders below those of their kind cannot be changed', async (t) => {
  for (const method of ['POST', 'DELETE']) {
    const asked = ask(method, '/manager/files', { ...of('etc/lists/amazon/new'), ...upload('a:1\n') })
    await t.rejects(asked, { code: 938, status: 501, message: /etc\/lists only/ }, method)
  }
})

t.test('a file is deleted', async (t) => {
  const { calls, envelope } = await ask('DELETE', '/manager/files', of('etc/rules/rec2.xml'))
  t.strictSame(calls, ['DELETE /rules/files/rec2.xml'])
  t.strictSame(envelope, { error: 0, data: 'File was deleted' })
})

t.test('a missing file cannot be deleted', async (t) => {
  const { status, envelope } = await ask('DELETE', '/manager/files', of('etc/lists/rec2'))
  t.strictSame({ status, ...envelope }, { status: 200, error: 1906, message: 'File does not exist' })
})
