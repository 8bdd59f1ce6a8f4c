/** v4 layout: log entries of a node. */
import t from 'tap'
import { ask, items, type Reply } from './recorded-node.ts'

interface Entry {
  readonly timestamp: string
  readonly tag: string
  readonly level: string
  readonly description: string
}

const DAEMONS = ['wazuh-remoted', 'sca', 'wazuh-db']

/** 1,200 entries, newest first, as pages of a node. */
const entries: readonly Entry[] = Array.from({ length: 1200 }, (_, at) => ({
  timestamp: new Date(Date.UTC(2026, 10, 22) - at * 1000).toISOString().replace('.000', ''),
  tag: DAEMONS[at % DAEMONS.length] ?? '',
  level: 'info',
  description: ` Entry ${at}`,
}))

function page(offset: number, limit: number): Reply {
  const body = items(entries.slice(offset, offset + limit))
  return { body: { ...body, data: { ...body.data, total_affected_items: entries.length } } }
}

const pages = {
  'GET /manager/logs?limit=500&offset=0': page(0, 500),
  'GET /manager/logs?limit=500&offset=500': page(500, 500),
  'GET /manager/logs?limit=200&offset=1000': page(1000, 200),
}

const rowsOf = (data: unknown) => (data as { items: readonly Entry[] }).items

t.test('entries have the v3 names of daemons and the v3 form of times', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/logs', { query: { category: 'ossec-remoted', limit: '1' } })
  t.strictSame(calls, ['GET /manager/logs?limit=1&tag=wazuh-remoted'])
  t.strictSame(envelope.data, {
    items: [
      {
        timestamp: '2026-11-22 00:22:19',
        tag: 'ossec-remoted',
        level: 'info',
        description: ' Started (pid: 274). Listening on port 1514/TCP,UDP (secure).',
      },
    ],
    totalItems: 7,
  })
})

t.test('tags of daemons that both layouts call the same stay as they are', async (t) => {
  const { envelope } = await ask('GET', '/manager/logs', { query: { search: 'Started', limit: '2' } })
  t.strictSame(
    rowsOf(envelope.data).map(({ tag }) => tag),
    ['wazuh-modulesd', 'wazuh-modulesd:agent-upgrade'],
  )
})

t.test('all types and all categories are no filter', async (t) => {
  const { calls } = await ask('GET', '/manager/logs', { query: { type_log: 'all', category: 'all', limit: '2' } })
  t.strictSame(calls, ['GET /manager/logs?limit=2'])
})

t.test('more than 500 entries are read in pages', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/logs', { query: { limit: '1000' }, replies: pages })
  t.strictSame(calls, ['GET /manager/logs?limit=500&offset=0', 'GET /manager/logs?limit=500&offset=500'])
  t.equal(rowsOf(envelope.data).length, 1000)
  t.match(envelope.data, { totalItems: 1200 })
  t.equal(rowsOf(envelope.data).at(-1)?.description, ' Entry 999')
})

t.test('no page is read behind the last entry', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/logs', {
    query: { limit: '1000', offset: '500' },
    replies: pages,
  })
  t.strictSame(calls, ['GET /manager/logs?limit=500&offset=500', 'GET /manager/logs?limit=200&offset=1000'])
  t.equal(rowsOf(envelope.data).length, 700)
})

t.test('an error of a later page is the error of the request', async (t) => {
  const broken = { status: 400, type: 'application/problem+json', body: { title: 'x', detail: 'y', error: 1017 } }
  const { envelope } = await ask('GET', '/manager/logs', {
    query: { limit: '1000' },
    replies: { ...pages, 'GET /manager/logs?limit=500&offset=500': broken },
  })
  t.match(envelope, { error: 1017 })
  t.notOk(envelope.data)
})

for (const [name, query] of Object.entries({
  'a condition on the tag': { q: 'tag=ossec-remoted' },
  'a search for a v3 name': { search: 'ossec-remoted' },
})) {
  t.test(`${name} finds what the v3 layout finds`, async (t) => {
    const { envelope } = await ask('GET', '/manager/logs', { query: { ...query, limit: '2' }, replies: pages })
    t.match(envelope.data, { items: [{ tag: 'ossec-remoted' }, { tag: 'ossec-remoted' }], totalItems: 400 })
  })
}

t.test('entries are sorted by the v3 names of daemons', async (t) => {
  const { envelope } = await ask('GET', '/manager/logs', { query: { sort: '-tag', limit: '1000' }, replies: pages })
  const tags = rowsOf(envelope.data).map(({ tag }) => tag)
  t.strictSame(tags, [...tags].sort().reverse())
  t.strictSame([...new Set(tags)], ['wazuh-db', 'sca', 'ossec-remoted'])
})

t.test('entries of a time are found by the v3 form of times', async (t) => {
  const { envelope } = await ask('GET', '/manager/logs', {
    query: { q: 'timestamp~2026-11-21 23', limit: '1' },
    replies: pages,
  })
  t.match(envelope.data, { items: [{ timestamp: '2026-11-21 23:59:59', description: ' Entry 1' }], totalItems: 1199 })
})

t.test('a condition on the level is evaluated by the node', async (t) => {
  const { calls } = await ask('GET', '/manager/logs', {
    query: { q: 'level=error', limit: '1' },
    replies: { 'GET /manager/logs?limit=1&q=level=error': { body: items([]) } },
  })
  t.strictSame(calls, ['GET /manager/logs?limit=1&q=level=error'])
})

t.test('selected fields fail as in the v3 layout, without a call', async (t) => {
  const { calls, envelope } = await ask('GET', '/manager/logs', { query: { select: 'tag' } })
  t.strictSame(calls, [])
  t.strictSame(envelope, { error: 1000, message: 'Internal error' })
})

t.test('an unknown type has no entries', async (t) => {
  const detail = "'nope' is not one of ['critical', 'debug']. Failed validating 'enum' in schema. On instance: 'nope'"
  const refused = { status: 400, type: 'application/problem+json', body: { title: 'Bad Request', detail } }
  const { envelope } = await ask('GET', '/manager/logs', {
    query: { type_log: 'nope' },
    replies: { 'GET /manager/logs?level=nope': refused },
  })
  t.strictSame(envelope, { error: 0, data: { items: [], totalItems: 0 } })
})

t.test('counts by tag are one object with the v3 names', async (t) => {
  const { envelope } = await ask('GET', '/manager/logs/summary')
  const summary = envelope.data as Readonly<Record<string, unknown>>
  t.strictSame(summary['ossec-analysisd'], { all: 19, info: 9, error: 6, critical: 0, warning: 4, debug: 0 })
  t.equal(Object.keys(summary).length, 23)
  t.strictSame(
    Object.keys(summary).filter((tag) => /^wazuh-(?!db$|modulesd)/.test(tag)),
    [],
  )
})

t.test('reading ends with a page without entries, whatever the total says', async (t) => {
  const withTotal = (count: number): Reply => {
    const body = items(entries.slice(0, count))
    return { body: { ...body, data: { ...body.data, total_affected_items: 1_000_000 } } }
  }
  const replies = {
    'GET /manager/logs?limit=500&offset=0': withTotal(500),
    'GET /manager/logs?limit=500&offset=500': withTotal(0),
  }
  const { calls, envelope } = await ask('GET', '/manager/logs', { query: { limit: '5000' }, replies })
  t.equal(calls.length, 2)
  t.equal(rowsOf(envelope.data).length, 500)
})
