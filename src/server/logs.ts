/** Destinations of the log: JSON lines (`log.format: json`) and text for people (`log.format: text`). */
import { Writable } from 'node:stream'
import { pino } from 'pino'
import type { LogDestination } from '../app/log.ts'

/** Creates the log on standard output. The last lines are written however the process ends, except by SIGKILL. */
export function createProcessLog(format: 'json' | 'text'): LogDestination {
  if (format === 'text') return createTextLog(process.stdout)
  const log = createJsonLog()
  process.once('exit', () => log.flushSync())
  return log
}

/** Several lines share one write, because a write costs more than the response to a cache hit. */
const MAX_BUFFERED_LENGTH = 8192
const FLUSH_INTERVAL_MS = 100

/** Creates a destination that writes JSON lines to standard output. */
function createJsonLog() {
  // Synchronous: passing these few bytes to another thread takes longer than writing them.
  const output = pino.destination({ dest: 1, sync: true })
  // Buffered here: the destination would measure the length of its whole buffer with each line.
  let buffer = ''
  const flush = (): void => {
    const lines = buffer
    buffer = ''
    if (lines !== '') output.write(lines)
  }
  const write = (line: string): void => {
    if (buffer.length + line.length > MAX_BUFFERED_LENGTH) flush()
    buffer += line
  }
  setInterval(flush, FLUSH_INTERVAL_MS).unref()
  return {
    write,
    /** Writes the buffered lines. To be called before the process ends. */
    flushSync: (): void => {
      flush()
      output.flushSync()
    },
  }
}

/** Creates a destination that writes `12:34:56.789 INFO  request method=GET status=200`, one line per event. */
function createTextLog(output: Writable): Writable {
  return new Writable({
    decodeStrings: false,
    write(line, _encoding, done) {
      output.write(formatLine(String(line)))
      done()
    },
  })
}

/** Formats a JSON line. Values with other than plain characters stay JSON, so that no value can add a line. */
export function formatLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
  const at = String(time).slice(11, 23)
  const rest = Object.entries(fields).map(([name, value]) => ` ${formatValue(name)}=${formatValue(value)}`)
  return `${at} ${String(level).toUpperCase().padEnd(5)} ${formatMessage(String(msg ?? ''))}${rest.join('')}\n`
}

function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)
}

function formatMessage(text: string): string {
  return /[\x00-\x1f\x7f-\x9f]/.test(text) ? JSON.stringify(text) : text
}
