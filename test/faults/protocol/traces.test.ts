/** Runs of real replicas are executions of the specification. Longer: `npm run check:coherence -- --only traces`. */
import t from 'tap'
import { IMPATIENT } from '../coherence/planted.ts'
import { createRandom } from '../coherence/random.ts'
import { describe, run } from '../coherence/run.ts'
import {
  acknowledged,
  change,
  client,
  heartbeat,
  inOrder,
  lookup,
  node,
  path,
  requestOf,
  violationOf,
} from './hand-made.ts'
import type { ClientRequest, Recording, TraceEvent } from './record.ts'
import { checkTrace } from './traces.ts'

const seed = Date.now() % 1_000_000

/** Replica b has 0 in its local tier; a write through replica a; then replica b reads 1, and 1 again from its local tier. */
const events: readonly TraceEvent[] = [
  heartbeat(1, 'a'),
  heartbeat(2, 'b'),
  ...client(requestOf('GET', 3, 6, 0, { id: 'r1' })),
  lookup(4),
  node(5, 0, 'r1'),
  ...client(requestOf('PUT', 10, 70, 1)),
  change(20, 'fence', 1),
  acknowledged(30, 1),
  node(40, 1, 'w1', path),
  change(50, 'lift', 2),
  acknowledged(60, 2),
  ...client(requestOf('GET', 80, 83, 1, { id: 'r2' })),
  lookup(81),
  node(82, 1, 'r2'),
  ...client(requestOf('GET', 90, 91, 1)),
]

/** Changes the events at a time; undefined removes them. */
const changed = (at: number, to: Partial<TraceEvent> | undefined) =>
  inOrder(
    events.flatMap((event) =>
      event.at !== at ? [event] : to === undefined ? [] : [{ ...event, ...to } as TraceEvent],
    ),
  )

t.test('a trace of the protocol is an execution of its specification', async (t) => {
  t.equal(violationOf(inOrder(events)), '')
  t.equal(violationOf(changed(90, { request: requestOf('GET', 3, 91, 0) } as Partial<TraceEvent>)), '', 'other end')
  const late = inOrder(
    events.filter(({ at }) => at !== 30).map((event) => (event.at >= 40 ? { ...event, at: event.at + 2000 } : event)),
  )
  t.equal(violationOf(late), '', 'a writer waits for the end of a lease instead of an acknowledgement')
})

t.test('a trace without an event, or in another order, is none', async (t) => {
  const carriesOut = /no "write 1: the node carries it out"/
  t.match(violationOf(changed(20, undefined)), carriesOut, 'no fence')
  t.match(violationOf(changed(20, { at: 45 })), carriesOut, 'a fence after the call of the node')
  t.match(violationOf(changed(30, undefined)), carriesOut, 'no acknowledgement of the fence')
  t.match(violationOf(changed(30, { at: 41 })), carriesOut, 'an acknowledgement after the call of the node')
  const acknowledges = /no "write 1: is acknowledged with 1"/
  t.match(violationOf(changed(40, undefined)), acknowledges, 'no call of the node')
  t.match(violationOf(changed(50, undefined)), acknowledges, 'no lift')
  t.match(violationOf(changed(60, undefined)), acknowledges, 'no acknowledgement of the lift')
  t.match(violationOf(changed(60, { at: 71 })), acknowledges, 'an acknowledgement after the 2xx')
  t.match(violationOf(changed(82, { value: 0 } as Partial<TraceEvent>)), /responds with 0/, 'a wrong value of the node')
  const old = [...events.filter(({ at }) => at < 90), ...client(requestOf('GET', 90, 91, 0))]
  t.match(violationOf(inOrder(old)), /no read through replica 2 returns 0/, 'an old value')
  const fenced = [...events.filter(({ at }) => at < 10 || at > 75), change(75, 'fence', 3)]
  t.match(violationOf(inOrder(fenced)), /returns|responds/, 'a hit under a fence')
})

t.test('a refused write has not reached the node, and an unknown outcome leaves its fence', async (t) => {
  const withOutcome = (outcome: object) =>
    inOrder(
      events
        .filter(({ at }) => at < 75)
        .map((event) =>
          'request' in event && event.request.method === 'PUT'
            ? { ...event, request: { ...event.request, ...outcome } }
            : event,
        ),
    )
  const outcome = (status: number, code: number) => ({ status, code, value: undefined })
  t.match(violationOf(withOutcome(outcome(503, 930))), /no "write 1: the node carries it out"/, 'a refused write')
  t.match(violationOf(withOutcome(outcome(504, 923))), /no "write 1: sends its lift"/, 'a fence that is lifted')
})

/** The run as it would be if each client received its responses up to `ms` milliseconds later. */
function withLateClients({ events }: Recording, ms: number): Recording {
  const random = createRandom(seed)
  const late = new Map<ClientRequest, ClientRequest>()
  for (const event of events) {
    if (event.kind === 'end') late.set(event.request, { ...event.request, end: event.at + random.below(ms) })
  }
  return inOrder(
    events.flatMap((event) => {
      if (event.kind !== 'begin' && event.kind !== 'end') return [event]
      return event.kind === 'end' ? client(late.get(event.request) ?? event.request) : []
    }),
  )
}

t.test('runs of replicas over slow links are executions of the specification', async (t) => {
  const report = await run({
    operations: 400,
    // On busy cores, fewer operations might have no write that is acknowledged.
    seconds: 30,
    seed,
    replicas: 2,
    chaos: false,
    links: 'latency',
    isRecorded: true,
  })
  const recording = report.recording ?? { events: [] }
  const { violations, events: count, actions } = checkTrace(recording)
  t.comment(
    `seed ${seed}: ${count} events\n${describe(report)}\n${[...actions].map(([name, times]) => `${name}: ${times}`).join('\n')}`,
  )
  t.same(violations, [], `seed ${seed}`)
  t.ok(actions.has('write #: is acknowledged with #') && actions.has('read #: the node responds'), 'writes and reads')
  for (const ms of [20, 200, 2000]) {
    t.same(checkTrace(withLateClients(recording, ms)).violations, [], `seed ${seed}: clients up to ${ms} ms later`)
  }
})

for (const fault of ['no fence', 'no compare', IMPATIENT]) {
  t.test(`the check finds a run with: ${fault}`, async (t) => {
    const links = fault === IMPATIENT && 'latency'
    const report = await run({
      operations: 5000,
      seconds: 30,
      seed,
      replicas: 2,
      chaos: false,
      fault,
      links,
      isRecorded: true,
    })
    const { violations } = checkTrace(report.recording ?? { events: [] })
    t.comment(`seed ${seed}\n${violations[0]?.join('\n')}`)
    t.ok(violations.length > 0, `seed ${seed}`)
  })
}
