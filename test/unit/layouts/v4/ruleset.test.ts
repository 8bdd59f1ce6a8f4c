/** Rules, decoders and lists of a node with the v4 layout have the names and forms of the v3 one. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, askRecorded, recorded, success } from './recorded.ts'

const NO_ROWS = { error: 0, data: { items: [], totalItems: 0 } }

t.test('the fields of a rule have their v3 names, and options are texts', async (t) => {
  const { data } = await askRecorded('GET /rules/:rule_id', { params: { rule_id: '5710' } }, 'GET /rules?q=id=5710')
  t.same(data, {
    items: [
      {
        file: '0095-sshd_rules.xml',
        path: 'ruleset/rules',
        id: 5710,
        description: 'sshd: Attempt to login using a non-existent user',
        level: 5,
        status: 'enabled',
        groups: ['authentication_failed', 'invalid_login', 'syslog', 'sshd'],
        pci: ['10.2.4', '10.2.5', '10.6.1'],
        gdpr: ['IV_35.7.d', 'IV_32.2'],
        hipaa: ['164.312.b'],
        'nist-800-53': ['AU.14', 'AC.7', 'AU.6'],
        gpg13: ['7.1'],
        details: { if_sid: '5700', match: 'illegal user|invalid user' },
      },
    ],
    totalItems: 1,
  })
})

t.test('filters, fields and conditions of rules have their v4 names in the call', async (t) => {
  const query = {
    file: 'a.xml',
    path: 'etc/rules',
    pci: '10.2.4',
    'nist-800-53': 'AU.14',
    sort: '-file',
    q: 'pci=10.2.4;level>3',
    search: '!ssh',
  }
  const { calls } = await ask(edgeRequest('GET', '/rules', { query }), () => success([]))
  const [path, sent = ''] = (calls[0] ?? '').split('?')
  t.equal(path, 'GET /rules')
  t.same(Object.fromEntries(new URLSearchParams(sent)), {
    filename: 'a.xml',
    relative_dirname: 'etc/rules',
    pci_dss: '10.2.4',
    'nist-800-53': 'AU.14',
    sort: '-filename',
    q: 'pci_dss=10.2.4;level>3',
    search: '-ssh',
  })
})

t.test('selected fields of rules are those that the client named', async (t) => {
  const { calls, data } = await ask(edgeRequest('GET', '/rules', { query: { select: 'pci,gdpr', limit: '1' } }), () =>
    recorded('GET /rules?select=pci_dss,nist_800_53,gdpr&limit=1'),
  )
  t.same(calls, ['GET /rules?limit=1&select=pci_dss,gdpr'])
  t.same(data, { items: [{ pci: [], gdpr: [] }], totalItems: 4286 })
})

t.test('a rule or decoder that does not exist is an empty collection', async (t) => {
  const rule = await askRecorded('GET /rules/:rule_id', { params: { rule_id: '999999' } }, 'GET /rules?rule_ids=999999')
  t.same(rule.calls, ['GET /rules?rule_ids=999999'])
  t.same(rule.json, NO_ROWS)
  const params = { decoder_name: 'nope' }
  const decoder = await askRecorded('GET /decoders/:decoder_name', { params }, 'GET /decoders?decoder_names=nope')
  t.same(decoder.json, NO_ROWS)
})

t.test('a pattern of a decoder is a text, without its offset', async (t) => {
  const query = { limit: '2', offset: '1' }
  const { data } = await askRecorded('GET /decoders', { query }, 'GET /decoders?limit=2&offset=1')
  t.match(data, {
    items: [
      {
        file: '0005-wazuh_decoders.xml',
        path: 'ruleset/decoders',
        details: { parent: 'wazuh', prematch: '^Agent buffer:', regex: "^ '(\\S+)'.", order: 'level' },
      },
      {},
    ],
  })
})

t.test('the edge sorts decoders by several fields, because the node refuses them', async (t) => {
  const rows = [
    { filename: 'a.xml', relative_dirname: 'd', name: 'x', position: 1 },
    { filename: 'b.xml', relative_dirname: 'd', name: 'y', position: 0 },
    { filename: 'a.xml', relative_dirname: 'd', name: 'z', position: 2 },
  ]
  const query = { sort: '-file,position', limit: '2', select: 'name' }
  const { calls, data } = await ask(edgeRequest('GET', '/decoders', { query }), () => success(rows))
  t.same(calls, ['GET /decoders?limit=100000'])
  t.same(data, { items: [{ name: 'y' }, { name: 'z' }], totalItems: 3 })
})

t.test('requirements are texts, which have no field to sort by', async (t) => {
  const call = 'GET /rules/requirement/pci_dss?sort=-&limit=2'
  const { calls, data } = await askRecorded('GET /rules/pci', { query: { sort: '-', limit: '2' } }, call)
  t.same(calls, ['GET /rules/requirement/pci_dss?limit=2&sort=-'])
  t.same(data, { items: ['9.1.1', '8.7'], totalItems: 53 })
  const named = await askRecorded('GET /rules/pci', { query: { sort: '-pci' } }, call)
  t.same(named.calls, [])
  t.match(named.json, { error: 1403 })
})

t.test('a sort by an unknown field is refused as the v3 layout does, without a call', async (t) => {
  const { calls, status, json } = await ask(edgeRequest('GET', '/rules', { query: { sort: 'filename' } }), () =>
    success([]),
  )
  t.same(calls, [])
  t.equal(status, 200)
  t.same(json, { error: 1403, message: 'Sort field invalid' })
})

t.test('a list is named by its folder and file', async (t) => {
  const { data } = await askRecorded('GET /lists', { query: { search: 'audit' } }, 'GET /lists')
  t.match(data, { items: [{ path: 'etc/lists/audit-keys', items: [{ key: 'audit-wazuh-w', value: 'write' }] }] })
  t.equal((data as { totalItems: number }).totalItems, 1)
})

t.test('a list that is named by its path has only keys and values', async (t) => {
  const query = { path: 'etc/lists/audit-keys' }
  const { calls, data } = await askRecorded('GET /lists', { query }, 'GET /lists?filename=audit-keys')
  t.same(calls, ['GET /lists?relative_dirname=etc/lists&filename=audit-keys'])
  t.match(data, { items: [[{ key: 'audit-wazuh-w', value: 'write' }]], totalItems: 1 })
})

t.test('a list that does not exist is error 1006, and a path outside the folder of lists 1801', async (t) => {
  const missing = await askRecorded('GET /lists', { query: { path: 'etc/lists/nope' } }, 'GET /lists?filename=nope')
  t.match(missing.json, { error: 1006 })
  const outside = await askRecorded('GET /lists', { query: { path: 'etc/rules/a' } }, 'GET /lists')
  t.same(outside.calls, [])
  t.same(outside.json, { error: 1801, message: "Wrong 'path' parameter" })
})

t.test('a path without a name of a file is error 1006, and nothing is sent', async (t) => {
  for (const path of ['etc/lists/', 'etc/lists/amazon/', 'etc/lists/..']) {
    const { calls, json } = await askRecorded('GET /lists', { query: { path } }, 'GET /lists')
    t.same(calls, [], path)
    t.match(json, { error: 1006 }, path)
  }
})

t.test('a page of lists counts its rows', async (t) => {
  const call = 'GET /lists?limit=1&offset=1'
  const { calls, data } = await askRecorded('GET /lists', { query: { offset: '1', limit: '1' } }, call)
  t.same(calls, ['GET /lists?offset=1&limit=1'])
  t.match(data, { items: [{ path: 'etc/lists/security-eventchannel' }], totalItems: 1 })
})

t.test('pages of list files count their rows, and are cut before they are sorted', async (t) => {
  const query = { offset: '2', sort: '-name' }
  const { data } = await askRecorded('GET /lists/files', { query }, 'GET /lists/files')
  t.same(data, {
    items: [
      { path: 'etc/lists/amazon', name: 'aws-sources' },
      { path: 'etc/lists/amazon', name: 'aws-eventnames' },
    ],
    totalItems: 2,
  })
})
