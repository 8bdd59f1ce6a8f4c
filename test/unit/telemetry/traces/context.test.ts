import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { parseTraceContext } from '../../../../src/telemetry/traces/trace-context.ts'
import { KINDS } from './collector.ts'
import { tracedEdge } from './traced-edge.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const parent = (flags: string) => `00-${TRACE}-${SPAN}-${flags}`

t.test('a traceparent is parsed strictly (W3C Trace Context, section 3.2)', async (t) => {
  const rows: readonly (readonly [string, string, boolean | undefined])[] = [
    ['sampled', parent('01'), true],
    ['not sampled', parent('00'), false],
    ['random, sampled', parent('03'), true],
    ['flags that are not defined yet', parent('fd'), true],
    ['a later version', `cc-${TRACE}-${SPAN}-01`, true],
    ['a later version that continues after a hyphen', `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
    ['a later version that continues without a hyphen', `cc-${TRACE}-${SPAN}-01.more`, undefined],
    ['version 00 that continues', `${parent('01')}-more`, undefined],
    ['version ff', `ff-${TRACE}-${SPAN}-01`, undefined],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`, undefined],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
    ['upper case', parent('01').toUpperCase(), undefined],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`, undefined],
    ['a long span id', `00-${TRACE}-${SPAN}0-01`, undefined],
    ['not hexadecimal', `00-${TRACE.slice(1)}g-${SPAN}-01`, undefined],
    ['three parts', `00-${TRACE}-${SPAN}`, undefined],
    ['two of them', `${parent('01')}, ${parent('01')}`, undefined],
    ['empty', '', undefined],
  ]
  for (const [what, header, sampled] of rows) {
    const parsed = parseTraceContext(header, undefined)
    t.equal(parsed?.sampled, sampled, what)
    if (parsed !== undefined) t.match(parsed, { traceId: TRACE, spanId: SPAN }, what)
  }
  t.equal(parseTraceContext(parent('ff'), undefined)?.flags, 3, 'only defined flags are propagated')
  t.equal(parseTraceContext(undefined, 'a=b'), undefined, 'a tracestate without traceparent is ignored')
})

t.test('of a tracestate, the valid members are propagated (section 3.3)', async (t) => {
  const state = (text: string) => parseTraceContext(parent('01'), text)?.state
  const many = (count: number) => Array.from({ length: count }, (_, at) => `k${at}=v`).join(',')
  t.equal(state('congo=t61rcWkgMzE,rojo=00f067aa0ba902b7'), 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7')
  t.equal(
    state('fw529a3039@dt=FfAf,\t a/b*c=1 , ,'),
    'fw529a3039@dt=FfAf,a/b*c=1',
    'blanks between members are removed',
  )
  t.equal(state(many(32)), many(32))
  t.equal(state('A=1,a=2'), 'a=2', 'an invalid member is left out')
  for (const text of ['A=1', '=1', 'a', 'a=', 'a=b=c', 'a=\u0007', `a=${'x'.repeat(257)}`, '', ','])
    t.equal(state(text), undefined, JSON.stringify(text.slice(0, 20)))
  t.equal(state(`${many(8)},${'x'.repeat(500)}=1`), undefined, 'longer than 512 characters')
})

/** No response is computed from a snapshot. */
const callsForEachUrl = { snapshots: { groups: [] } }

t.test('which traceparent is trusted', async (t) => {
  const headers = { traceparent: parent('01'), tracestate: 'rojo=1' }

  t.test('a trusted proxy: its trace continues through the edge to the nodes', async (t) => {
    const { collector, ask, nodeHeaders } = await tracedEdge(t, {
      cluster: { workers: 0, agents: 3 },
      traces: { sampleRatio: 0 },
      settings: { listen: { trustedProxies: ['127.0.0.0/8'] }, cache: callsForEachUrl },
    })
    const seen = nodeHeaders()
    await ask('/agents?limit=1', { headers })
    const spans = await collector.trace(TRACE)
    const server = spans.find(({ kind }) => kind === KINDS.server)
    t.match(server, { parentSpanId: SPAN, traceState: 'rojo=1' })
    const client = spans.find(({ kind }) => kind === KINDS.client)
    t.match(seen(), [{ headers: { traceparent: `00-${TRACE}-${client?.spanId}-01`, tracestate: 'rojo=1' } }])

    const unsampledHeaders = nodeHeaders()
    const unsampled = { ...headers, traceparent: parent('00') }
    await ask('/agents?limit=2', { headers: unsampled })
    const again = await ask('/agents?limit=2', { headers: unsampled })
    t.match(again.headers.get('cache-status'), /hit/)
    t.match(
      unsampledHeaders(),
      [{ headers: { traceparent: parent('00'), tracestate: 'rojo=1' } }],
      'propagated as received',
    )

    const invalidHeaders = nodeHeaders()
    const { traceId } = await ask('/agents?limit=3', {
      headers: { traceparent: `${parent('01')}-x`, tracestate: 'a=1' },
    })
    t.match(
      invalidHeaders(),
      [{ headers: { traceparent: new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`) } }],
      'an invalid traceparent counts as absent',
    )
    t.notOk('tracestate' in (invalidHeaders()[0]?.headers ?? {}))
    const served = collector.spans.filter(({ kind }) => kind === KINDS.server)
    t.equal(served.length, 1, 'the other requests were not recorded')
  })

  t.test('any other client: the edge starts a new trace', async (t) => {
    const { collector, ask, nodeHeaders } = await tracedEdge(t, { cluster: { workers: 0, agents: 3 } })
    const seen = nodeHeaders()
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

t.test('traces.maxPerSecond limits the recorded requests', async (t) => {
  const { collector, ask, nodeHeaders } = await tracedEdge(t, {
    cluster: { workers: 0, agents: 3 },
    traces: { maxPerSecond: 2 },
    settings: { cache: callsForEachUrl },
  })
  const seen = nodeHeaders()
  const began = performance.now()
  const responses: Awaited<ReturnType<typeof ask>>[] = []
  // Below the rate limit of a caller, and for longer than the half second until the budget allows the first trace.
  while (responses.length < 60) {
    responses.push(await ask(`/agents?limit=${responses.length + 1}`))
    await wait(15)
  }
  const seconds = (performance.now() - began) / 1000
  const flags = new Map(seen().map(({ headers }) => [String(headers.traceparent).split('-')[1], headers.traceparent]))
  const recorded = responses.filter(({ traceId }) => String(flags.get(traceId)).endsWith('-01'))
  t.equal(flags.size, responses.length, 'each node call carries the trace id of its request, recorded or not')
  t.ok(recorded.length >= 1 && recorded.length <= 2 * seconds + 3, `${recorded.length} in ${seconds.toFixed(1)} s`)
  for (const { traceId } of recorded) await collector.trace(traceId)
  t.equal(collector.spans.filter(({ kind }) => kind === KINDS.server).length, recorded.length)
})
