import t, { type Test } from 'tap'
import { collect } from '../../../src/query/collect.ts'
import { CollectionError, parseCollectionRequest } from '../../../src/query/request.ts'
import { sources } from '../../../src/query/sources.ts'
import type { Element } from '../../../src/query/value.ts'
import { flatten, type Known, knownRows, type RecordedAnswer, recordedAnswers } from './recorded.ts'

/** The moment of the sitting whose answers are compared. */
const NOW = new Date('2026-11-20T12:45:00Z')

/** What cannot be compared, and why. */
const notCompared: readonly { readonly why: string; readonly fits: (recorded: RecordedAnswer) => boolean }[] = [
  {
    why: 'the manager joins these page by page and loses rows',
    fits: ({ path, answer }) => path.startsWith('/experimental/') && 'items' in answer,
  },
  { why: 'the manager recomputes the hashes', fits: ({ query }) => 'hash' in query },
  { why: 'a summary is grouped', fits: ({ query }) => 'summary' in query },
  {
    why: 'recorded when the log was shorter',
    fits: ({ path, query }) => path === '/cluster/worker-1/logs' && query.limit === '1',
  },
]

/** Live agents send a sign of life every ten seconds, so that no two answers agree on it. */
function steady(element: Element): Element {
  if (typeof element === 'string') return element
  const { lastKeepAlive: _, ...rest } = element
  return rest
}

function ask({ source, query }: RecordedAnswer, rows: readonly Element[]): RecordedAnswer['answer'] {
  try {
    const { items, totalItems } = collect(rows, parseCollectionRequest(query, NOW), sources[source])
    return { items: items.map(steady), totalItems }
  } catch (error) {
    if (error instanceof CollectionError) return { code: error.code, message: error.message }
    throw error
  }
}

function compare(t: Test, recorded: RecordedAnswer, known: Known): void {
  const { path, query, answer, source } = recorded
  const name = `${path} ${new URLSearchParams(query)}`
  const answered = ask(recorded, known.rows)
  if ('code' in answer || 'code' in answered) {
    t.same(answered, answer, name)
    return
  }
  const items = answer.items.map(steady)
  if (known.whole) {
    t.same(answered, { items, totalItems: answer.totalItems }, name)
    return
  }
  // Of the first rows only: what fits of them comes first, unless the order is another.
  if (!('sort' in query)) t.same(answered.items, items.slice(0, answered.items.length), name)
  t.ok(answered.totalItems <= answer.totalItems, name)
  const { offset: _, ...rest } = query
  const rows = 'nested' in sources[source] ? answer.items.map(flatten) : answer.items
  t.same(ask({ ...recorded, query: rest }, rows), { items, totalItems: items.length }, `${name}, of itself`)
}

const answers = recordedAnswers()
const paths = new Set(answers.map(({ path }) => path))

for (const path of paths) {
  t.test(path, async (t) => {
    const ofPath = answers.filter((answer) => answer.path === path)
    const known = knownRows(ofPath.filter((answer) => !notCompared.some(({ fits }) => fits(answer))))
    for (const answer of ofPath) {
      const reason = notCompared.find(({ fits }) => fits(answer))
      if (reason) t.pass(`not compared: ${reason.why}`)
      else compare(t, answer, known)
    }
  })
}

t.test('every reason to skip an exchange is used, and most exchanges are compared', async (t) => {
  for (const { why, fits } of notCompared) t.ok(answers.some(fits), why)
  const compared = answers.filter((answer) => !notCompared.some(({ fits }) => fits(answer)))
  t.ok(compared.length >= 230, `${compared.length} of ${answers.length} are compared`)
})
