/** What a process asks all others about, through the supervisor. */
import type { Worker } from 'node:cluster'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { RequestDetails } from '../../../src/admin/console/request-types.ts'
import { type Call, Calls, type Question } from '../../../src/server/messages.ts'
import { Questions } from '../../../src/server/questions.ts'
import { createSlot, type Slot } from '../../../src/server/slot.ts'
import type { ProcessMetrics } from '../../../src/telemetry/metrics/sum.ts'

const never = () => new Promise<never>(() => undefined)
const question = (name: Question['name'], request = ''): Question => ({ type: 'question', id: 1, name, request })

t.test('answers find their questions in any order, and one without a question is ignored', async (t) => {
  const sent: Call[] = []
  const calls = new Calls((message) => sent.push(message), never)
  const [first, second] = [calls.ask('sum'), calls.ask('find', 'id')]
  t.match(sent, [
    { type: 'question', id: 1, name: 'sum' },
    { type: 'question', id: 2, name: 'find', request: 'id' },
  ])
  await calls.receive({ type: 'answer', id: 2, answer: null })
  await calls.receive({ type: 'answer', id: 9, answer: 'late' })
  await calls.receive({ type: 'answer', id: 1, answer: 'text' })
  t.equal(await first, 'text')
  t.equal(await second, null)
})

t.test('the end of a process answers all questions to it', async (t) => {
  const calls = new Calls(() => undefined, never)
  const asked = [calls.ask('metrics'), calls.ask('find', 'id')]
  calls.end()
  t.strictSame(await Promise.all(asked), [undefined, undefined])
})

const metricsOf = (count: number): ProcessMetrics => ({
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  families: (['counter', 'gauge'] as const).map((type) => ({
    name: `of_${type}`,
    help: type,
    type,
    aggregator: 'sum',
    values: [{ labels: {}, value: count }],
  })),
})

/** A slot whose process answers as `answer` does. */
function serving(number: number, answer: (question: Question) => Promise<unknown>): Slot & { readonly calls: Calls } {
  const inProcess = new Calls((message) => void calls.receive(message), answer)
  const calls: Calls = new Calls((message) => void inProcess.receive(message), never)
  const worker = { id: 10 + number } as Worker
  return { ...createSlot(number), phase: 'serving', worker, calls }
}

t.test('metrics: a process that ends while it is asked keeps its counts, and loses its gauges', async (t) => {
  const slots = [serving(1, async () => metricsOf(1)), serving(2, never), serving(3, async () => metricsOf(4))] as const
  const questions = new Questions(slots, () => 5)
  questions.receiveMetrics(slots[1], metricsOf(2))
  const sum = questions.answer(slots[0], question('sum'))
  await turn()
  slots[1].calls.end()
  questions.end(12)
  const text = await sum
  t.match(text, /^of_counter 7$/m)
  t.match(text, /^of_gauge 5$/m)
  t.match(text, /^edge_processes\{state="configured"\} 3$/m)
  t.match(text, /^edge_processes\{state="answered"\} 2$/m)
  t.match(text, /^edge_process_restarts_total 5$/m)
})

t.test('a request is searched in all other processes that serve', async (t) => {
  const details = { id: 'here' } as unknown as RequestDetails
  const asked: number[] = []
  const find = (number: number, found: RequestDetails | null) =>
    serving(number, async () => {
      asked.push(number)
      return found
    })
  const slots = [find(1, details), find(2, null), find(3, details), find(4, details)]
  Object.assign(slots[3] as Slot, { phase: 'starting' })
  const questions = new Questions(slots, () => 0)
  t.strictSame(await questions.answer(slots[0] as Slot, question('find', 'here')), details)
  t.strictSame(asked, [2, 3], 'neither the one that asks nor one that has not started')
  t.equal(await new Questions(slots.slice(0, 2), () => 0).answer(slots[0] as Slot, question('find', 'x')), null)
})
