import { readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { verifyAudit } from '../../../src/audit/verify.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { startEdge } from '../../support/edge.ts'
import { edgeRequest, success } from '../../support/edge-requests.ts'
import { sendRaw } from '../../support/raw.ts'

type Line = Record<string, unknown>

async function linesOf(file: string): Promise<Line[]> {
  const text = await readFile(file, 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

/** Values for the parameters of paths. The cluster need not have them: every write is recorded. */
const values: Readonly<Record<string, string>> = {
  agent_id: '001',
  agent_name: 'newcomer',
  group_id: 'default',
  filename: 'agent.conf',
  file_name: 'agent.conf',
  node_id: 'worker-1',
  group: 'agents',
}
const queries: Readonly<Record<string, string>> = {
  path: 'etc/lists/x',
  wpk_repo: 'packages.wazuh.com/wpk/',
  file_path: '/var/ossec/var/upgrade/x.wpk',
  ids: '001',
}
const bodies: Readonly<Record<string, Record<string, unknown>>> = {
  'PUT /active-response/:agent_id': { command: '!restart.sh', arguments: ['canary-argument'] },
  'POST /agents': { name: 'by-audit', ip: '10.9.9.9' },
  'POST /agents/insert': { name: 'inserted', ip: '10.9.9.8', id: '77', key: 'c'.repeat(64) },
  'POST /agents/restart': { ids: ['1', '002'] },
  'POST /agents/group/:group_id': { ids: ['2'] },
}

const typeOf = (types: readonly string[]): string =>
  types.includes('application/octet-stream') ? 'application/octet-stream' : 'application/xml'

t.test('every write of the catalogue leaves an intent and an outcome, and no secret', async (t) => {
  const simulator = await startSimulator()
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    password: 'simulated',
    settings: {
      audit: { file: 'audit.jsonl' },
      access: { limits: { requestsPerSecond: 10_000 } },
    },
  })
  t.teardown(() => edge.close())
  const file = join(edge.folder, 'audit.jsonl')
  const writes = catalogue.filter(({ method }) => method !== 'GET')
  for (const endpoint of writes) {
    const name = `${endpoint.method} ${endpoint.path}`
    const path = endpoint.path.replaceAll(/:(\w+)/g, (_, param: string) => values[param] ?? 'x')
    const named = Object.entries(endpoint.query).filter(
      ([query, { required }]) => required !== undefined || ('oneOf' in endpoint && endpoint.oneOf?.[0] === query),
    )
    const search = new URLSearchParams(Object.fromEntries(named.map(([query]) => [query, queries[query] ?? '1'])))
    const body = 'body' in endpoint ? endpoint.body : undefined
    const sent = bodies[name]
    const reply = await fetch(`${edge.url}${path}?${search}`, {
      method: endpoint.method,
      headers: {
        authorization: edge.authorization('admin'),
        ...(body?.kind === 'upload' && { 'content-type': typeOf(body.types) }),
        ...(sent && { 'content-type': 'application/json' }),
      },
      ...(body?.kind === 'upload' && { body: typeOf(body.types).includes('xml') ? '<x>canary</x>' : 'canary:list\n' }),
      ...(sent && { body: JSON.stringify(sent) }),
    })
    const text = await reply.text()
    t.not(reply.status, 400, `${name} is a legal request: ${text.slice(0, 200)}`)
    const id = reply.headers.get('x-request-id')
    const lines = (await linesOf(file)).filter((line) => line.request === id)
    t.strictSame(
      lines.map(({ kind }) => kind),
      ['intent', 'outcome'],
      name,
    )
    t.match(lines[0], { caller: 'admin', client: '127.0.0.1', method: endpoint.method, route: endpoint.path })
    t.equal(lines[1]?.status, reply.status)
    if (endpoint.target.kind === 'edge') t.strictSame(lines[1]?.nodes, [])
    else if (reply.status === 200 && lines[1]?.error === 0)
      t.ok(String(lines[1]?.nodes ?? '') !== '', 'nodes are named')
  }
  const text = await readFile(file, 'utf8')
  t.notMatch(text, /canary|cccccccc|admin-pw/, 'no value of a field, no password')
  t.match(text, /"fields":\["name","ip","id","key"\]|"key"/, 'names of fields')
  t.match(text, /"ids":\["001","002"\]/, 'the agents that a body names')
  t.strictSame((await verifyAudit([file])).faults, [])
})

t.test('purges are recorded, previews and reads are not', async (t) => {
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
    settings: { audit: { file: 'audit.jsonl' }, cluster: { discover: false } },
  })
  t.teardown(() => edge.close())
  const ask = async (path: string, user: string, method = 'DELETE') => {
    const reply = await fetch(edge.url + path, { method, headers: { authorization: edge.authorization(user) } })
    await reply.arrayBuffer()
    return reply.status
  }
  await ask('/cache?preview=true', 'admin')
  await ask('/cache/rules', 'admin')
  await ask('/cache?soft=true', 'admin')
  await ask('/cache', 'admin', 'GET')
  const lines = await linesOf(join(edge.folder, 'audit.jsonl'))
  t.match(lines, [
    { kind: 'opened' },
    { kind: 'intent', route: '/cache/:group', params: { group: 'rules' } },
    { kind: 'outcome', outcome: 'done' },
    { kind: 'intent', route: '/cache', query: { soft: 'true' } },
    { kind: 'outcome', outcome: 'done' },
  ])
  t.equal(lines.length, 5)
})

t.test('a refused write of an authenticated caller has one record, others have none', async (t) => {
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
    settings: {
      audit: { file: 'audit.jsonl' },
      cluster: { discover: false },
      listen: { timeouts: { headers: '1s', body: '1s' } },
    },
  })
  t.teardown(() => edge.close())
  const ask = async (path: string, { user = 'admin', ...init }: RequestInit & { user?: string }) => {
    const headers = { authorization: edge.authorization(user), ...init.headers }
    const reply = await fetch(path.startsWith('/') ? edge.url + path : path, { method: 'POST', ...init, headers })
    return { status: reply.status, id: reply.headers.get('x-request-id'), text: await reply.text() }
  }
  const json = { 'content-type': 'application/json' }
  const xml = { 'content-type': 'application/xml' }
  const big = JSON.stringify({ name: 'canary'.repeat(40_000) })
  const purge = { body: JSON.stringify({ soft: false, preview: false }), headers: { ...json, 'x-edge-console': '1' } }
  const console = `${edge.operationsUrl}/api/purge`
  const rows: readonly [string, Parameters<typeof ask>[1], number, number, object][] = [
    ['/agents/canary/restart', { method: 'PUT' }, 400, 600, { route: '/agents/:agent_id/restart', method: 'PUT' }],
    ['/agents/groups/canary', { method: 'DELETE', user: 'reader' }, 403, 902, { caller: 'reader', method: 'DELETE' }],
    ['/cache?soft=canary', { method: 'DELETE' }, 400, 618, { route: '/cache', method: 'DELETE' }],
    ['/agents', { body: '{"name":"canary!"}', headers: json }, 400, 601, { route: '/agents' }],
    ['/agents', { body: big, headers: json }, 400, 701, { route: '/agents' }],
    ['/agents', { body: '<canary>', headers: xml }, 400, 607, { route: '/agents' }],
    ['/canary', { method: 'DELETE' }, 404, 603, { route: 'unknown', method: 'DELETE' }],
    ['/agents', { method: 'PATCH' }, 404, 603, { route: 'unknown', method: 'other' }],
    [console, { ...purge, user: 'reader' }, 403, 902, { caller: 'reader', route: '/api/purge' }],
    [console, { ...purge, headers: { ...json, origin: 'http://canary' } }, 403, 902, { route: '/api/purge' }],
  ]
  const expected: object[] = []
  for (const [path, init, status, error, more] of rows) {
    const reply = await ask(path, init)
    t.equal(reply.status, status, `${path}: ${reply.text}`)
    const said = { kind: 'refused', outcome: 'refused', status, error, nodes: [], client: '127.0.0.1' }
    expected.push({ ...said, caller: 'admin', method: 'POST', ...more, request: reply.id })
  }
  const credentials = `Authorization: ${edge.authorization('admin')}\r\nContent-Type: application/json\r\n`
  const slow = `POST /agents HTTP/1.1\r\nHost: edge\r\n${credentials}Content-Length: 20\r\n\r\n{"canary`
  t.equal((await sendRaw(edge.url, slow)).status, 408)
  expected.push({ kind: 'refused', status: 408, error: 906, caller: 'admin', route: '/agents' })

  t.equal((await ask('/cache', { method: 'DELETE', headers: { authorization: 'Basic eDp5' } })).status, 401)
  t.equal((await ask('/nothing', { method: 'GET' })).status, 404, 'a read')
  t.equal((await ask(console, { ...purge, headers: { ...purge.headers, authorization: 'Basic eDp5' } })).status, 401)
  t.equal((await ask('/cache', { method: 'DELETE' })).status, 200)
  const file = join(edge.folder, 'audit.jsonl')
  const lines = await linesOf(file)
  t.match(lines, [{ kind: 'opened' }, ...expected, { kind: 'intent' }, { kind: 'outcome' }])
  t.equal(lines.length, expected.length + 3)
  t.notMatch(await readFile(file, 'utf8'), /canary/, 'no unvalidated value is recorded')
  t.strictSame((await verifyAudit([file])).faults, [])
})

t.test('the chain continues after the file was moved and after rotation', async (t) => {
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
    settings: { audit: { file: 'audit.jsonl', rotateAt: '2KiB' }, cluster: { discover: false } },
  })
  const file = join(edge.folder, 'audit.jsonl')
  const purge = () =>
    fetch(`${edge.url}/cache`, { method: 'DELETE', headers: { authorization: edge.authorization('admin') } })
  await purge()
  await rename(file, `${file}.0`)
  await edge.edge.reopenAudit()
  for (let round = 0; round < 6; round += 1) await purge()
  await edge.edge.drain(0)
  const names = (await readdir(edge.folder)).filter((name) => name.startsWith('audit.jsonl.')).sort()
  t.ok(names.length >= 3, names.join(' '))
  const files = [...names, 'audit.jsonl'].map((name) => join(edge.folder, name))
  const all = await verifyAudit(files)
  t.strictSame([all.faults, all.notes], [[], []], 'complete and closed')
  const gap = await verifyAudit(files.filter((_, at) => at !== 1))
  t.match(gap.faults, [/removed/], 'a missing file is reported')
  await edge.close()
})

t.test('if the disk fails, writes are refused or, with onFailure log, the failure is logged', async (t) => {
  for (const onFailure of ['refuse', 'log']) {
    const edge = await startEdge({
      nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
      settings: { audit: { file: 'folder/audit.jsonl', onFailure }, cluster: { discover: false } },
    }).catch((fault: Error) => fault.message)
    t.match(edge, /ENOENT/, 'a file that cannot be opened fails the start')
  }
  const { createAudit } = await import('../../../src/audit/index.ts')
  const { AuditFile } = await import('../../../src/audit/file.ts')
  const sink = new AuditFile({ file: '/dev/full', replica: 'r', writing: () => ({ sync: false, rotateAt: 1e9 }) })
  const errors: string[] = []
  const request = edgeRequest('DELETE /cache')
  let done = 0
  const next = async () => {
    done += 1
    return success(1)
  }
  const log = { error: (_: object, message: string) => void errors.push(message) }
  const refused = {
    requestId: '2',
    caller: 'a',
    client: 'c',
    method: 'PUT',
    route: '/x',
    status: 403,
    rejectedWith: 902,
  }
  const refusing = createAudit({ sink, onFailure: () => 'refuse', log })
  await t.rejects(async () => refusing.stage(next)(request), { code: 936, status: 503 })
  t.equal(done, 0, 'nothing was sent')
  await createAudit({ sink, onFailure: () => 'log', log }).stage(next)(request)
  t.equal(done, 1)
  t.equal(errors.length, 3, 'each record that could not be written is logged')
  const hanging = createAudit({
    sink: Object.assign(sink, { append: () => new Promise<void>(() => undefined) }),
    onFailure: () => 'log',
    log,
  })
  for (let at = 0; at < 1100; at += 1) hanging.onRejected(refused)
  t.equal(hanging.state().failures, 100, 'pending records are bounded while the disk hangs')
})

t.test('without a file the records go to the log, whatever its level', async (t) => {
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }],
    settings: { log: { level: 'error' }, cluster: { discover: false } },
  })
  t.teardown(() => edge.close())
  await fetch(`${edge.url}/cache`, { method: 'DELETE', headers: { authorization: edge.authorization('admin') } })
  const lines = edge.logged.map((text) => JSON.parse(text) as Line).filter(({ name }) => name === 'audit')
  t.equal(lines.length, 2)
  const file = join(edge.folder, 'from-log')
  await writeFile(file, lines.map(({ line }) => `${String(line)}\n`).join(''))
  t.strictSame((await verifyAudit([file])).faults, [], 'the same chain')
})

t.test('with log.level silent and no file, a write is refused unless onFailure is log', async (t) => {
  const { createAudit } = await import('../../../src/audit/index.ts')
  const { createAuditLog } = await import('../../../src/audit/sink.ts')
  const request = edgeRequest('DELETE /cache')
  const response = success(1)
  const log = { error: () => undefined }
  const sink = createAuditLog('replica', pino({ level: 'silent' }), () => {})
  const refusing = createAudit({ sink, onFailure: () => 'refuse', log })
  await t.rejects(async () => refusing.stage(() => response)(request), { code: 936, status: 503 })
  t.strictSame(refusing.state(), { records: 0, failures: 1, isFailing: true })
  const logging = createAudit({ sink, onFailure: () => 'log', log })
  t.equal(await logging.stage(() => response)(request), response)
  t.strictSame(logging.state(), { records: 0, failures: 2, isFailing: true })
})
