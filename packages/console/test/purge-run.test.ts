import t from 'tap'
import type { PurgeRequest, PurgeResult } from '../../../src/status/view-types.ts'
import { describeReport, type PurgePlan, runPurge } from '../src/views/purge-run.ts'

const result = (of: Partial<PurgeResult> = {}): PurgeResult => ({
  entries: 1,
  bytes: 1024,
  seconds: 1,
  neverStale: { entries: 0 },
  pending: false,
  missing: 0,
  ...of,
})

const keys = ['a', 'b', 'c', 'd', 'e']

/** `answers`: the result of each request; an error is thrown. */
async function run(answers: readonly (PurgeResult | Error)[], plan: Partial<PurgePlan> = {}, stopAfter = 99) {
  const sent: PurgeRequest[] = []
  const progress: number[] = []
  const report = await runPurge(
    { names: {}, maxKeys: 2, soft: false, ...plan },
    {
      send: async (request) => {
        sent.push(request)
        const answer = answers[sent.length - 1] ?? result()
        if (answer instanceof Error) throw answer
        return answer
      },
      onProgress: (count) => void progress.push(count),
      isStopped: () => sent.length >= stopAfter,
    },
  )
  return { sent, progress, report, text: describeReport(report).join(' ') }
}

t.test('a purge by name is one request', async (t) => {
  const { sent, text } = await run([result({ entries: 1200, bytes: 2048 })], { names: { tag: 'agent:001' } })
  t.strictSame(sent, [{ tag: 'agent:001', soft: false, preview: false }])
  t.equal(text, 'Removed: 1,200 entries, 2 KiB.')
})

t.test('keys are purged in batches, and the progress is reported', async (t) => {
  const answers = [result({ entries: 2 }), result({ entries: 1, missing: 1 }), result()]
  const { sent, progress, text } = await run(answers, { keys })
  t.strictSame(sent, [
    { keys: ['a', 'b'], soft: false, preview: false },
    { keys: ['c', 'd'], soft: false, preview: false },
    { keys: ['e'], soft: false, preview: false },
  ])
  t.strictSame(progress, [2, 4, 5])
  t.equal(text, 'Removed: 4 entries, 3 KiB. 1 entry no longer existed.')
})

t.test('a failure reports what was purged, what is unknown, and what remains', async (t) => {
  const { sent, text } = await run([result({ entries: 2 }), new Error('the edge is unreachable')], { keys })
  t.equal(sent.length, 2, 'nothing is sent after a failure')
  t.match(text, /^The purge failed after 2 of 5 entries: the edge is unreachable\. Of the next 2 it is unknown\./)
  t.match(text, /Removed: 2 entries/)
})

t.test('a purge by name that fails may have been carried out', async (t) => {
  const { text } = await run([new Error('the edge did not respond in time')])
  t.equal(
    text,
    'The purge failed: the edge did not respond in time. It may have been carried out. A second purge does no harm.',
  )
})

t.test('a purge can be stopped between two requests', async (t) => {
  const { sent, text } = await run([], { keys }, 1)
  t.equal(sent.length, 1)
  t.match(text, /^Stopped after 2 of 5 entries\. The others remain\. Removed: 1 entry/)
})

t.test('a pending purge is not reported as done', async (t) => {
  const { text } = await run([result({ pending: true })])
  t.match(text, /^The purge is pending, because Redis is unreachable/)
  t.notMatch(text, 'Removed')
})

t.test('entries that were stored after the preview are counted', async (t) => {
  const { report } = await run([result({ entries: 5 })], { keys, maxKeys: 5, soft: true })
  t.match(
    describeReport({ ...report, remaining: 3 }).join(' '),
    /^Marked as stale: 5 entries.* The search now matches 3 entries, stored after the preview\./,
  )
  t.notMatch(describeReport({ ...report, remaining: 0 }).join(' '), 'search')
})
