/** Incidents of one and of several replicas: begin, end, counts, texts, and which replica sends the notices. */
import t from 'tap'
import type { Problem } from '../../../../src/admin/console/api-types.ts'
import { CallerCounts } from '../../../../src/admin/console/caller-counts.ts'
import type { HistoryStore } from '../../../../src/admin/console/history-records.ts'
import type { IncidentNotice } from '../../../../src/admin/console/history-types.ts'
import { decodePart, type IncidentPart, incidentsOf } from '../../../../src/admin/console/incident-parts.ts'
import { ConsoleIncidents } from '../../../../src/admin/console/incidents.ts'
import { requestEvent } from '../../../support/request-event.ts'

const START = Date.UTC(2026, 0, 1, 1, 14, 50)
const down: Problem = {
  kind: 'nodeUnreachable',
  severity: 'error',
  summary: 'master is down',
  detail: '',
  view: 'nodes',
}
const slow: Problem = { kind: 'redisSlow', severity: 'error', summary: 'Redis is slow', detail: '' }

/** Replicas with one clock, which exchange their reports each second while `isShared`. */
function startReplicas(t: { teardown(end: () => unknown): unknown }, ...runs: readonly string[]) {
  let now = START
  const stored: string[] = []
  const store: HistoryStore = {
    add: async (_, records) => stored.push(...records.map(({ text }) => text)) > 0,
    read: async () => stored,
  }
  const state = { isShared: true }
  const notices: (IncidentNotice & { readonly from: string })[] = []
  const replicas = runs.map((run) => {
    const own = { problems: [] as Problem[], isAlive: true }
    const callers = new CallerCounts(() => now)
    const incidents = new ConsoleIncidents({
      name: `replica-${run}`,
      run,
      problems: () => own.problems,
      callers,
      ...(runs.length > 1 && { store }),
      notify: (notice) => notices.push({ ...notice, from: run }) > 0,
      onChange: () => undefined,
      now: () => now,
    })
    t.teardown(() => incidents.close())
    const send = (changes: Parameters<typeof requestEvent>[0]) => callers.request(requestEvent({ at: now, ...changes }))
    return Object.assign(own, { incidents, send })
  })
  const pass = (seconds: number, each: (second: number) => void = () => undefined): void => {
    for (let second = 0; second < seconds; second += 1) {
      now += 1000
      each(second)
      const alive = replicas.filter(({ isAlive }) => isAlive)
      for (const { incidents } of alive) {
        const others = alive.filter((other) => other.incidents !== incidents)
        const reports = others.map((other) => JSON.parse(JSON.stringify(other.incidents.report())))
        incidents.offer(state.isShared ? reports : undefined)
        incidents.update()
      }
    }
  }
  return { replicas, notices, pass, state, now: () => now }
}

type Started = ReturnType<typeof startReplicas>
const firstOf = ({ replicas: [first] }: Started) => first as NonNullable<typeof first>

t.test('an incident is one sentence when it begins, and one when it is over', async (t) => {
  const started = startReplicas(t, 'a')
  const { notices, pass } = started
  const one = firstOf(started)
  pass(8)
  one.problems = [down]
  pass(10, () => {
    one.send({ status: 503, caller: 'dashboard' })
    one.send({ status: 200, cache: 'stale', caller: 'dashboard' })
    one.send({ status: 200, cache: 'hit', caller: 'other' })
    one.send({ status: 200, cache: 'stale', caller: 'report' })
  })
  t.match(notices, [{ event: 'begin', text: /^Since 01:14:59 UTC: master is down\./ }])
  const [open] = await one.incidents.read()
  t.equal(
    open?.text,
    'Since 01:14:59 UTC: master is down. 20 requests were served stale, 10 failed; most affected: dashboard.',
  )
  t.notOk(open?.until)
  one.problems = []
  pass(30)
  t.match(
    notices.map(({ event, text }) => [event, text]),
    [
      ['begin', /^Since/],
      [
        'end',
        'From 01:14:59 to 01:15:08 UTC: master is down. 20 requests were served stale, 10 failed; most affected: dashboard.',
      ],
    ],
  )
  const [over] = await one.incidents.read()
  t.strictSame(over?.callers, [
    { name: 'dashboard', stale: 10, failed: 10 },
    { name: 'report', stale: 10, failed: 0 },
  ])
  t.match(over?.markdown, /\| End \| 2026-01-01 01:15:08 UTC \(9 s\) \|/)
  t.match(over?.markdown, /\| dashboard \| 10 \| 10 \|/)
})

t.test('requests that failed before the edge found the cause count, and the incident begins with them', async (t) => {
  const started = startReplicas(t, 'a')
  const { pass } = started
  const one = firstOf(started)
  pass(1, () => one.send({ status: 500, caller: 'earlier' }))
  pass(9)
  pass(6, () => one.send({ status: 503, caller: 'dashboard' }))
  one.problems = [down]
  pass(5)
  const [open] = await one.incidents.read()
  t.equal(open?.failed, 6, 'a failure long before is none of it')
  t.equal(open?.since, START + 11_000)
})

t.test('what flaps is one incident, and what is over at once is none', async (t) => {
  const started = startReplicas(t, 'a')
  const { notices, pass } = started
  const one = firstOf(started)
  const flap = (second: number) => {
    one.problems = second % 4 < 2 ? [down] : []
  }
  one.problems = [down]
  pass(2)
  one.problems = [{ ...down, severity: 'warning' }]
  pass(30)
  t.strictSame(await one.incidents.read(), [], 'two seconds')
  one.problems = [{ kind: 'notReady', severity: 'error', summary: 'Not ready', detail: '' }]
  pass(30)
  t.strictSame(await one.incidents.read(), [], 'a start or an end')
  pass(40, flap)
  one.problems = [slow]
  pass(5)
  one.problems = []
  pass(40)
  const incidents = await one.incidents.read()
  t.strictSame(
    incidents.map(({ problems }) => problems.map(({ kind }) => kind)),
    [['nodeUnreachable', 'redisSlow']],
  )
  t.strictSame(
    notices.map(({ event }) => event),
    ['begin', 'end'],
  )
  one.problems = [down]
  pass(10)
  t.equal((await one.incidents.read()).length, 2, 'a later one is another one')
  t.equal(notices.length, 3)
})

t.test('several replicas see one incident, and one of them sends', async (t) => {
  const started = startReplicas(t, 'b', 'a', 'c')
  const { replicas, notices, pass } = started
  const [b, a, c] = replicas as [Started['replicas'][0], Started['replicas'][0], Started['replicas'][0]]
  b.problems = [down]
  pass(5, () => b.send({ status: 503, caller: 'dashboard' }))
  a.problems = [slow]
  c.problems = [down]
  pass(10, () => {
    for (const each of replicas) each.send({ status: 503, caller: 'dashboard' })
  })
  b.problems = []
  pass(20)
  t.strictSame(
    notices.map(({ event, from }) => [event, from]),
    [['begin', 'a']],
    'also while one replica sees nothing any more',
  )
  for (const each of replicas) {
    const [open] = await each.incidents.read()
    t.match(open, { failed: 35, replicas: ['replica-a', 'replica-b', 'replica-c'] })
    t.notOk(open?.until)
  }
  t.comment('the replica that sends is lost')
  a.isAlive = false
  c.problems = []
  pass(60)
  t.strictSame(
    notices.map(({ event, from }) => [event, from]),
    [
      ['begin', 'a'],
      ['end', 'b'],
    ],
  )
})

t.test('while Redis is unreachable, one of the replicas that were known sends', async (t) => {
  const started = startReplicas(t, 'a', 'b')
  const { replicas, notices, pass, state } = started
  pass(5)
  state.isShared = false
  for (const each of replicas) each.problems = [slow]
  pass(60)
  for (const each of replicas) each.problems = []
  pass(5)
  state.isShared = true
  pass(60)
  t.strictSame(
    notices.map(({ event, from }) => [event, from]),
    [
      ['begin', 'a'],
      ['end', 'a'],
    ],
  )
  t.equal((await firstOf(started).incidents.read()).length, 1)
})

t.test('parts of others are checked, and no name becomes Markdown', async (t) => {
  const counts = { stale: 1, failed: 2 }
  const callers = [{ name: '[x](https://evil.example)|<b>', ...counts }]
  const part: IncidentPart = { run: 'a', replica: 'one', since: START, problems: [down], ...counts, callers }
  t.strictSame(
    decodePart(JSON.stringify({ ...part, problems: [{ kind: 'new', summary: 'of a later version' }] }))?.failed,
    2,
  )
  for (const wrong of [{ since: 'x' }, { callers: [{ name: 1 }] }, { stale: -1 }, { problems: undefined }])
    t.equal(decodePart(JSON.stringify({ ...part, ...wrong })), undefined)
  t.equal(decodePart('no JSON'), undefined)
  const [incident] = incidentsOf([part])
  t.match(incident?.markdown, String.raw`| \[x\](https\://evil.example)\|\<b\> | 1 | 2 |`)
  const started = startReplicas(t, 'a')
  firstOf(started).incidents.offer([{ run: 'z', parts: [{ ...part, since: 'x' }] }, 5, undefined])
  t.strictSame(await firstOf(started).incidents.read(), [])
})
