import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createLog } from '../../../src/app/log.ts'
import { limitRepeatedLines } from '../../../src/app/log-lines.ts'
import type { ReloadableConfig } from '../../../src/config/reloadable.ts'
import { eventually } from '../../support/eventually.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly repeated?: number
  readonly [field: string]: unknown
}

/** A log whose interval ends only when the test flushes it, unless it has an interval. */
function logOf(_t: Test, intervalMs = 3_600_000) {
  const lines: Line[] = []
  const { logMethod, flush } = limitRepeatedLines(intervalMs)
  const log = pino({ base: null, hooks: { logMethod } }, { write: (line) => void lines.push(JSON.parse(line)) })
  return { log, lines, flush }
}

t.test('events of one kind become one line at once and one line with their number', async (t) => {
  const { log, lines, flush } = logOf(t)
  for (let ms = 0; ms < 264; ms += 1) log.warn({ event: 'timeout', ms }, 'cache store')
  t.match(lines, [{ msg: 'cache store', event: 'timeout', ms: 0 }])
  t.equal(lines.length, 1)
  flush()
  t.match(lines[1], { msg: 'cache store', event: 'timeout', ms: 263, repeated: 263 })
  t.equal(lines.length, 2)
})

t.test('other fields, another message and another level are other kinds', async (t) => {
  const { log, lines, flush } = logOf(t)
  log.warn({ event: 'timeout' }, 'cache store')
  log.warn({ event: 'full' }, 'cache store')
  log.warn({ event: 'full' }, 'another message')
  log.error({ event: 'full' }, 'another message')
  log.warn({ settings: ['a'] }, 'list')
  log.warn({ settings: ['b'] }, 'list')
  log.warn(new Error('one'))
  log.warn(new Error('two'))
  log.warn({ err: new Error('one') }, 'with an error')
  log.warn({ err: new Error('two') }, 'with an error')
  t.equal(lines.length, 10)
  flush()
  t.equal(lines.length, 10)
})

t.test('lines below warn are written one by one', async (t) => {
  const { log, lines } = logOf(t)
  for (let at = 0; at < 5; at += 1) log.info({ route: '/agents' }, 'request completed')
  t.equal(lines.length, 5)
})

t.test('a line of a request has its id; a second event in an interval is written as it is', async (t) => {
  const { log, lines, flush } = logOf(t)
  log.child({ reqId: 'a' }).warn({ code: 922 }, 'node did not respond')
  log.child({ reqId: 'b' }).warn({ code: 922 }, 'node did not respond')
  flush()
  t.match(lines, [{ reqId: 'a' }, { reqId: 'b', code: 922 }])
  t.notOk('repeated' in (lines[1] ?? {}))
})

t.test(
  'while a kind goes on, it has one line per interval; after a pause, its next line is written at once',
  async (t) => {
    const { log, lines } = logOf(t, 50)
    log.warn('flood')
    log.warn('flood')
    await eventually(() => lines.length === 2)
    log.warn('flood')
    t.equal(lines.length, 2, 'in the next interval')
    await eventually(() => lines.length === 3)
    await new Promise((resolve) => setTimeout(resolve, 200))
    log.warn('flood')
    t.equal(lines.length, 4, 'at once')
  },
)

t.test('lines that wait are written in front of the next line of the logger', async (t) => {
  const lines: string[] = []
  const settings = { initial: { log: { level: 'info' } }, onReload: () => undefined } as unknown as ReloadableConfig
  const { log, logTo, setEarlierLines } = createLog(settings, { write: (line) => void lines.push(line) })
  const waiting = ['a\n', 'b\n']
  setEarlierLines(() => {
    for (const line of waiting.splice(0)) logTo.write(line)
  })
  log.warn('node ejected')
  log.info('node answers again')
  t.match(lines, ['a\n', 'b\n', /node ejected/, /node answers again/])
  log.level = 'error'
  waiting.push('c\n')
  log.info('not written')
  t.equal(lines.length, 4, 'a line that is not written writes no others')
})
