import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { timesToRecord } from '../../support/suite/report.ts'
import { runInPlaces, startOrder, type TimesOfFiles } from '../../support/suite/schedule.ts'

const times: TimesOfFiles = {
  'busy-1': [20, 17.5],
  'busy-2': [10, 8.75],
  'busy-3': [8, 7],
  'waits-1': [60, 1],
  'waits-2': [50, 1],
  'waits-3': [40, 1],
}

/** Starts the files, and lets the caller end each. */
function run(names: readonly string[], maxFiles: number, of = times) {
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const files = names.map((name) => ({ name }))
  const ended = runInPlaces(files, { times: of, maxFiles, cores: 1.6 }, ({ name }) => {
    started.push(name)
    return new Promise<void>((resolve) => ends.set(name, resolve))
  })
  const end = async (name: string) => {
    ends.get(name)?.()
    await new Promise(setImmediate)
  }
  return { started, end, ended }
}

t.test('files that take long start first, those without recorded times among the short ones', async (t) => {
  const order = startOrder(['new', 'busy-3', 'waits-1', 'busy-1'], { ...times, short: [0.5, 0.1] })
  t.strictSame(order, ['waits-1', 'busy-1', 'busy-3', 'new'])
})

t.test('as many files run as the cores can carry; a file that does not fit lets later ones pass', async (t) => {
  const names = ['busy-1', 'busy-2', 'busy-3', 'waits-1', 'waits-2', 'waits-3']
  const { started, end, ended } = run(names, 10)
  t.strictSame(started, ['busy-1', 'busy-2', 'waits-1', 'waits-2'])
  await end('waits-1')
  t.strictSame(started.slice(4), ['waits-3'])
  await end('busy-1')
  t.strictSame(started.slice(5), ['busy-3'])
  for (const name of names) await end(name)
  await ended
})

t.test('a file that measures times under load runs without others', async (t) => {
  const measures = 'test/faults/suite/overload.test.ts'
  t.ok(existsSync(measures))
  const { started, end, ended } = run([measures, 'waits-1', 'waits-2'], 10, { ...times, [measures]: [30, 0.1] })
  t.strictSame(started, [measures])
  await end(measures)
  t.strictSame(started.slice(1), ['waits-1', 'waits-2'])
  for (const name of ['waits-1', 'waits-2']) await end(name)
  await ended
  const later = run(['waits-1', measures], 10)
  t.strictSame(later.started, ['waits-1'])
  await later.end('waits-1')
  t.strictSame(later.started, ['waits-1', measures])
  await later.end(measures)
  await later.ended
})

t.test('no more files run than allowed, and at least one', async (t) => {
  t.strictSame(run(['waits-1', 'waits-2', 'waits-3'], 2).started, ['waits-1', 'waits-2'])
  const { started, end } = run(['heavy', 'other'], 2, { heavy: [1, 9] })
  t.strictSame(started, ['heavy'])
  await end('heavy')
  t.strictSame(started, ['heavy', 'other'])
})

t.test(
  'a record has the files that take a second or more, and keeps those of other runs that still exist',
  async (t) => {
    const here = 'test/unit/suite/schedule.test.ts'
    const before: TimesOfFiles = {
      [here]: [7, 2],
      'test/unit/gone.test.ts': [5, 5],
      'test/unit/was-long.test.ts': [9, 9],
    }
    const files = [
      { name: 'test/b.test.ts', seconds: 2.345, cpuSeconds: 0.44 },
      { name: 'test/a.test.ts', seconds: 1, cpuSeconds: 1 },
      { name: 'test/unit/was-long.test.ts', seconds: 0.9, cpuSeconds: 0.5 },
    ]
    const text = timesToRecord(files, before)
    t.strictSame(JSON.parse(text), { 'test/a.test.ts': [1, 1], 'test/b.test.ts': [2.3, 0.4], [here]: [7, 2] })
  },
)

t.test('the recorded files exist', async (t) => {
  const recorded = Object.keys(JSON.parse(readFileSync('test/support/suite/times.json', 'utf8')))
  t.ok(recorded.length > 100)
  t.strictSame(
    recorded.filter((file) => !existsSync(file)),
    [],
    'rename or remove the row in test/support/suite/times.json',
  )
})
