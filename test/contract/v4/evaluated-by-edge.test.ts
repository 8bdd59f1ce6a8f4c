/**
 * Parameters that the node lacks, or reads in another way, are evaluated by the edge over all recorded rows. The calls
 * never name a parameter that the node does not know.
 */
import t from 'tap'
import { affectedOf, recordedV4, type V4Exchange } from './exchanges.ts'
import { furtherRepliesFrom } from './further-replies.ts'
import { logRow, type Row } from './oracle-values.ts'
import { startReplay } from './v3-master.ts'
import type { V3Request } from './v3-request.ts'

const recorded = recordedV4()

/** Returns the first exchange of a call at the master. */
function exchangeOf(method: string, path: string): V4Exchange {
  const found = recorded.find(
    ({ request, node }) => node === 'master' && request.method === method && request.path === path,
  )
  if (found === undefined) throw new Error(`${method} ${path} is not recorded`)
  return found
}

interface Case {
  readonly endpoint: string
  readonly query: V3Request['query']
  readonly items: readonly unknown[]
  readonly totalItems: number
}

const platforms = ['centos', 'darwin', 'debian', 'rhel', 'ubuntu', 'windows']
const os = 'GET /agents/summary/os'
const groups = 'GET /agents/groups'
const namesOf = (query: V3Request['query'], names: readonly string[], totalItems = names.length) => ({
  endpoint: groups,
  query,
  items: names,
  totalItems,
})

const lines = (affectedOf(exchangeOf('GET', '/manager/logs?limit=500'))?.affected_items ?? []).map((line) =>
  logRow(line as Row),
)
const byTag = (sign: 1 | -1) => lines.toSorted((a, b) => sign * String(a.tag).localeCompare(String(b.tag), 'en'))

const cases: readonly Case[] = [
  { endpoint: os, query: { limit: '1' }, items: ['centos'], totalItems: 6 },
  { endpoint: os, query: { offset: '4' }, items: ['ubuntu', 'windows'], totalItems: 6 },
  { endpoint: os, query: { sort: '-os.platform', limit: '2' }, items: ['windows', 'ubuntu'], totalItems: 6 },
  { endpoint: os, query: {}, items: platforms, totalItems: 6 },
  namesOf({ q: 'name=default' }, ['default']),
  namesOf({ q: 'count>2' }, ['default', 'webserver']),
  namesOf({ q: 'count>1;name~w' }, ['webserver']),
  namesOf({ q: 'count>1', sort: '-name', limit: '2' }, ['webserver', 'dmz'], 4),
  namesOf({ q: 'name=nope' }, []),
]

const callOf: Readonly<Record<string, string>> = { [os]: '/agents/summary/os', [groups]: '/groups' }

t.test('parameters that the node lacks', async (t) => {
  const replay = await startReplay(t)
  const further = furtherRepliesFrom(recorded)
  for (const { endpoint, query, items, totalItems } of cases) {
    const exchange = exchangeOf('GET', callOf[endpoint] ?? '')
    const { text, calls } = await replay.send(
      { endpoint, params: {}, query, asked: 'master' },
      exchange,
      further(exchange),
    )
    const { data } = JSON.parse(text) as { data?: { items: readonly unknown[]; totalItems: number } }
    const got = endpoint === groups ? data?.items.map((row) => (row as Row).name) : data?.items
    t.same(
      { items: got, totalItems: data?.totalItems },
      { items, totalItems },
      `${endpoint} ${JSON.stringify(query)}: ${text.slice(0, 80)}`,
    )
    t.notMatch(
      calls.join(' '),
      /GET \/(?:groups|agents\/summary\/os)\?\S*\b(?:q|select|sort|search)=/,
      'the node gets none of them',
    )
  }
})

t.test('log lines are sorted by the v3 names of daemons', async (t) => {
  const replay = await startReplay(t)
  const exchange = exchangeOf('GET', '/manager/logs?limit=500')
  const further = furtherRepliesFrom(recorded)
  for (const [sort, sign] of [
    ['tag', 1],
    ['-tag', -1],
  ] as const) {
    const query = { sort, limit: '1000' }
    const { text } = await replay.send(
      { endpoint: 'GET /manager/logs', params: {}, query, asked: 'master' },
      exchange,
      further(exchange),
    )
    const { data } = JSON.parse(text) as { data?: { items: readonly Row[]; totalItems: number } }
    t.equal(data?.totalItems, lines.length)
    t.same(
      data?.items.map(({ tag }) => tag),
      byTag(sign).map(({ tag }) => tag),
      sort,
    )
    t.same(
      new Set(data?.items.map((line) => JSON.stringify(line)).sort()),
      new Set(lines.map((line) => JSON.stringify(line)).sort()),
    )
  }
})
