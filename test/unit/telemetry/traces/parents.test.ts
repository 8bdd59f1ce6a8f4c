import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { readParent } from '../../../../src/telemetry/traces/context.ts'
import { KINDS } from './collector.ts'
import { tracedEdge } from './world.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const parent = (flags: string) => `00-${TRACE}-${SPAN}-${flags}`

t.test('a traceparent is read strictly (W3C Trace Context, section 3.2)', async (t) => {
  const rows: readonly (readonly [string, string, boolean | undefined])[] = [
    ['sampled', parent('01'), true],
    ['not sampled', parent('00'), false],
    ['random, sampled', parent('03'), true],
    ['flags that nobody knows yet', parent('fd'), true],
    ['a later version', `cc-${TRACE}-${SPAN}-01`, true],
    ['a later version that says more', `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
    ['a later version that runs on', `cc-${TRACE}-${SPAN}-01.more`, undefined],
    ['version 00 that says more', `${parent('01')}-more`, undefined],
    ['version ff', `ff-${TRACE}-${SPAN}-01`, undefined],
    ['no trace', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
    ['no span', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
    ['capitals', parent('01').toUpperCase(), undefined],
    ['a short trace', `00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
    ['a long span', `00-${TRACE}-${SPAN}0-01`, undefined],
    ['no hex', `00-${TRACE.slice(1)}g-${SPAN}-01`, undefined],
    ['three parts', `00-${TRACE}-${SPAN}`, undefined],
    ['blanks', ` ${parent('01')}`, undefined],
    ['two of them', `${parent('01')}, ${parent('01')}`, undefined],
    ['very long', `cc-${TRACE}-${SPAN}-01-${'x'.repeat(300)}`, undefined],
    ['nothing', '', undefined],
  ]
  for (const [what, header, sampled] of rows) {
    const read = readParent(header, undefined)
    t.equal(read?.sampled, sampled, what)
    if (read !== undefined) t.match(read, { traceId: TRACE, spanId: SPAN }, what)
  }
  t.equal(readParent(parent('ff'), undefined)?.flags, 3, 'only the flags that are defined go on')
  t.equal(readParent(undefined, 'a=b'), undefined, 'a tracestate alone is nothing')
})

t.test('a tracestate goes on whole or not at all (section 3.3)', async (t) => {
  const state = (text: string) => readParent(parent('01'), text)?.state
  const many = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join(',')
  t.equal(state('congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'), 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7')
  t.equal(state('fw529a3039@dt=FfAf,\t a/b*c=1 , ,'), 'fw529a3039@dt=FfAf,a/b*c=1', 'blanks between members are none')
  t.equal(state(many(32)), many(32))
  for (const text of [
    many(33),
    'a=1,a=2',
    'A=1',
    '=1',
    'a',
    'a=',
    'a=b=c',
    'a=\u0007',
    `a=${'x'.repeat(257)}`,
    '',
    ',',
  ])
    t.equal(state(text), undefined, JSON.stringify(text.slice(0, 20)))
  t.equal(state(`${many(8)},${'x'.repeat(500)}=1`), undefined, 'longer than must be handed on')
})

t.test('whose traceparent is believed', async (t) => {
  const headers = { traceparent: parent('01'), tracestate: 'rojo=1' }

  t.test('that of a proxy which is trusted: its trace goes on, through the edge to the nodes', async (t) => {
    const { collector, ask, told } = await tracedEdge(t, {
      cluster: { workers: 0, agents: 3 },
      traces: { share: 0 },
      settings: { listen: { trustedProxies: ['127.0.0.0/8'] } },
    })
    const seen = told()
    await ask('/agents?limit=1', { headers })
    const spans = await collector.trace(TRACE)
    const server = spans.find(({ kind }) => kind === KINDS.server)
    t.match(server, { parentSpanId: SPAN, traceState: 'rojo=1' })
    const client = spans.find(({ kind }) => kind === KINDS.client)
    t.match(seen(), [{ headers: { traceparent: `00-${TRACE}-${client?.spanId}-01`, tracestate: 'rojo=1' } }])

    const quiet = told()
    const unsampled = { ...headers, traceparent: parent('00') }
    await ask('/agents?limit=2', { headers: unsampled })
    const again = await ask('/agents?limit=2', { headers: unsampled })
    t.match(again.headers.get('cache-status'), /hit/)
    t.match(quiet(), [{ headers: { traceparent: parent('00'), tracestate: 'rojo=1' } }], 'handed on as it came')

    const ill = told()
    const { traceId } = await ask('/agents?limit=3', {
      headers: { traceparent: `${parent('01')}-x`, tracestate: 'a=1' },
    })
    t.match(
      ill(),
      [{ headers: { traceparent: new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`) } }],
      'as if it had sent none',
    )
    t.notOk('tracestate' in (ill()[0]?.headers ?? {}))
    const served = collector.spans.filter(({ kind }) => kind === KINDS.server)
    t.equal(served.length, 1, 'no other request was recorded')
  })

  t.test('not that of anybody else: the edge begins a trace of its own, or none', async (t) => {
    const { collector, ask, told } = await tracedEdge(t, { cluster: { workers: 0, agents: 3 } })
    const seen = told()
    const { traceId } = await ask('/agents?limit=1', { headers })
    const spans = await collector.trace(traceId)
    t.equal(spans.find(({ kind }) => kind === KINDS.server)?.parentSpanId, undefined)
    t.notOk(spans.some(({ traceState }) => traceState))
    const [node] = seen()
    t.match(node?.headers.traceparent, new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    t.notOk('tracestate' in (node?.headers ?? {}))
    t.strictSame(await Promise.resolve(collector.spans.filter((span) => span.traceId === TRACE)), [])
  })
})

t.test('how many are recorded', async (t) => {
  const { collector, ask, told } = await tracedEdge(t, { cluster: { workers: 0, agents: 3 }, traces: { perSecond: 2 } })
  const seen = told()
  const began = performance.now()
  const asked: Awaited<ReturnType<typeof ask>>[] = []
  // Fewer than a caller may ask in a second, and longer than the half second after which the first turn comes.
  while (asked.length < 60) {
    asked.push(await ask(`/agents?limit=${asked.length + 1}`))
    await wait(15)
  }
  const seconds = (performance.now() - began) / 1000
  const flags = new Map(seen().map(({ headers }) => [String(headers.traceparent).split('-')[1], headers.traceparent]))
  const recorded = asked.filter(({ traceId }) => String(flags.get(traceId)).endsWith('-01'))
  t.equal(flags.size, asked.length, 'each node call names its request, recorded or not')
  t.ok(recorded.length >= 1 && recorded.length <= 2 * seconds + 3, `${recorded.length} in ${seconds.toFixed(1)} s`)
  for (const { traceId } of recorded) await collector.trace(traceId)
  t.equal(collector.spans.filter(({ kind }) => kind === KINDS.server).length, recorded.length)
})
